import { parentPort } from 'node:worker_threads'
import { buildMarkup, type Markup, type MarkupOrder } from './markup.ts'
import { renderMjml } from './mjml.ts'

/** A content to build, or MJML to look at. */
export type MarkupTask = { order: MarkupOrder } | { mjml: string }
export type MarkupAnswer = { markup: Markup } | { mjml: { html: string; errors: string[] } } | { error: string }

parentPort?.on('message', async (task: MarkupTask) => {
  let answer: MarkupAnswer
  try {
    answer = 'order' in task ? { markup: await buildMarkup(task.order) } : { mjml: await renderMjml(task.mjml) }
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) }
  }
  parentPort?.postMessage(answer)
})
