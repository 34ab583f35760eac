import { Worker } from 'node:worker_threads'
import { unavailable } from '../../platform/problem.ts'
import type { Markup, MarkupOrder } from './markup.ts'
import type { MarkupAnswer, MarkupTask } from './markup-worker.ts'

interface Waiting {
  task: MarkupTask
  limitMs: number
  done(answer: MarkupAnswer): void
  failed(error: Error): void
}

const mostWaiting = 100
const idleMs = 30_000
/** Ten times what the largest honest content takes; what was accepted has more time when it is sent, however busy the machine is then. */
const lookLimitMs = 20_000
const buildLimitMs = 120_000

const waiting: Waiting[] = []
let thread: Worker | undefined
/** what the thread is at; it does one thing at a time */
let current: Waiting | undefined
let timer: NodeJS.Timeout | undefined

/** Markup of a content that takes long to build: MJML, style sheets, large pages. */
export async function buildOnThread(order: MarkupOrder): Promise<Markup> {
  const answer = await run({ order }, buildLimitMs)
  return (answer as { markup: Markup }).markup
}

/** MJML as HTML, with what is wrong with it. */
export async function renderOnThread(mjml: string, limitMs = lookLimitMs): Promise<{ html: string; errors: string[] }> {
  const answer = await run({ mjml }, limitMs)
  return (answer as { mjml: { html: string; errors: string[] } }).mjml
}

/**
 * One thread for all of the program, started when it is first wanted and let go when nothing was wanted for a while:
 * the libraries take seconds for a hostile content and half a second to load, and all else would wait.
 */
async function run(task: MarkupTask, limitMs: number): Promise<MarkupAnswer> {
  if (waiting.length >= mostWaiting)
    throw unavailable('rendering_busy', 'Too many templates are being rendered right now. Try again in a moment.')
  const answer = await new Promise<MarkupAnswer>((done, failed) => {
    waiting.push({ task, limitMs, done, failed })
    if (!current) next()
  })
  if ('error' in answer) throw new Error(answer.error)
  return answer
}

function next(): void {
  clearTimeout(timer)
  current = waiting.shift()
  // Threads keep memory; a program that has not rendered for a while gives it back.
  if (!current) timer = setTimeout(letGo, idleMs)
  else {
    const { task, limitMs } = current
    thread ??= open()
    thread.postMessage(task)
    timer = setTimeout(() => letGo(new Error(`it takes longer than ${limitMs / 1000} seconds`)), limitMs)
  }
  timer.unref()
}

function open(): Worker {
  const worker = new Worker(new URL('./markup-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  worker.on('message', (answer: MarkupAnswer) => {
    if (worker !== thread) return
    current?.done(answer)
    next()
  })
  worker.on('error', (error: NodeJS.ErrnoException) => {
    if (worker === thread)
      letGo(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new Error('it needs too much memory') : error)
  })
  // A program that has nothing else to do may end. (To listen holds it; so this comes last.)
  worker.unref()
  return worker
}

/** Ends the thread; what it was at fails, and what waits gets a new one. */
function letGo(error?: Error): void {
  void thread?.terminate()
  thread = undefined
  if (!error) return
  current?.failed(error)
  next()
}
