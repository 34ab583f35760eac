import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { readConfig } from '../src/platform/config.ts'
import { freePort } from './program.ts'
import { type World, world } from './world.ts'

/** A world that listens on a real port, and a real browser that looks at it. */
export interface BrowserWorld extends World {
  url: string
  browser: Browser
  /** A fresh visitor: own cookies, own window. Closed with the world. */
  visitor(options?: BrowserContextOptions): Promise<Page>
}

const paths = [
  process.env.PENNYPOST_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

export async function browserWorld(): Promise<BrowserWorld> {
  const executablePath = paths.find(path => path && existsSync(path))
  if (!executablePath) throw new Error('The browser tests need Chromium: install it, or name it in PENNYPOST_CHROMIUM.')
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const w = await world({ ...readConfig({ PENNYPOST_RATE_LIMIT: '0' }), port, host: '127.0.0.1', publicUrl })
  await w.app.listen({ port, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(w.app.server.address() as AddressInfo).port}`
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
  const contexts: BrowserContext[] = []
  return {
    ...w,
    url,
    browser,
    async visitor(options = {}) {
      const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 }, ...options })
      context.setDefaultTimeout(15_000)
      contexts.push(context)
      return context.newPage()
    },
    async close() {
      for (const context of contexts) await context.close()
      await browser.close()
      await w.close()
    },
  }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What a checker of accessibility finds serious or critical on the page. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // The page's own policy forbids foreign scripts, so this one runs beside it, as an extension would.
  const found = await page.evaluate(`(async () => { ${axeSource}; return axe.run(document) })()`)
  const { violations } = found as { violations: { id: string; impact: string; nodes: { html: string }[] }[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(' | ')}`)
}

const screenshots = join(import.meta.dirname, 'screenshots')

/** Kept for eyes. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true })
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true })
}
