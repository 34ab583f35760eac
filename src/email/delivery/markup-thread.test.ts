import { expect, test } from 'vitest'
import { compileContent } from './compile-content.ts'
import { renderOnThread } from './markup-thread.ts'

const page = (sections: number) =>
  `<mjml><mj-body>${'<mj-section><mj-column><mj-text>Hi</mj-text></mj-column></mj-section>'.repeat(sections)}</mj-body></mjml>`

test('rendering leaves the program free for all else', async () => {
  await renderOnThread(page(1))
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  const { html, errors } = await renderOnThread(page(100))
  clearInterval(counting)
  expect(errors).toEqual([])
  expect(html.split('>Hi<')).toHaveLength(101)
  expect(turns).toBeGreaterThan(3)
})

test('what takes too long is given up, and what waits behind it is done', async () => {
  const [slow, next] = await Promise.allSettled([renderOnThread(page(500), 20), renderOnThread(page(1))])
  expect(slow).toMatchObject({ status: 'rejected', reason: { message: 'it takes longer than 0.02 seconds' } })
  expect(next).toMatchObject({ status: 'fulfilled', value: { errors: [] } })
})

test('what the library refuses is told, and the thread goes on', async () => {
  await expect(renderOnThread(`<mjml><mj-body>${'<mj-wrapper>'.repeat(20_000)}`)).rejects.toThrow('call stack')
  await expect(renderOnThread('<p>No MJML</p>')).rejects.toThrow(/mjml/i)
  expect((await renderOnThread(page(1))).errors).toEqual([])
})

test('more than can wait are refused', async () => {
  const many = await Promise.allSettled(Array.from({ length: 110 }, () => renderOnThread('<p>No MJML</p>')))
  const refused = many.filter(one => (one as PromiseRejectedResult).reason.status === 503)
  expect(refused).toHaveLength(9)
})

test('a large page is built as a small one is', async () => {
  const content = { builderType: 'HTML', preheader: 'For {{ firstName }}', footer: true }
  const source = '<body><p>Hi {{ firstName }}</p><a href="https://a.example/?e={{ email }}">A</a></body>'
  const small = await compileContent({ ...content, source })
  const large = await compileContent({ ...content, source: source.replace('</p>', `</p>${'<br>'.repeat(3_000)}`) })
  const unmarked = (html: string) => html.replaceAll('<br>', '').replaceAll(/pp[0-9a-f]{8}/g, 'pp')
  expect(unmarked(large.html)).toBe(unmarked(small.html))
  expect(large.links).toEqual(['https://a.example/?e={{ email }}'])
  expect(large.slots.map(slot => slot.kind)).toEqual(small.slots.map(slot => slot.kind))
})
