import { expect, test } from 'vitest'
import { siteAssets } from '../platform/site/page.ts'
import { checkoutAssets } from './checkout-page.ts'

test('style and script together are at most 20 kB', () => {
  const bytes = [...siteAssets, ...checkoutAssets]
    .filter(({ name }) => /\.(css|js)$/.test(name))
    .reduce((sum, { content }) => sum + content.length, 0)
  expect(bytes).toBeLessThanOrEqual(20_000)
})
