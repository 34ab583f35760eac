import { chooseLanguage } from '../../platform/site/language.ts'
import { de } from './de.ts'
import { en, type Texts } from './en.ts'

const languages: Record<'en' | 'de', Texts> = { en, de }

export const textsOf = (language: string): Texts => (language === 'de' ? de : en)

/** The customer's language where we have it: asked for in the address, or told by the browser; else English. */
export function textsFor(call: { query?: unknown; headers: Record<string, string | string[] | undefined> }): Texts {
  const { lang } = (call.query ?? {}) as { lang?: unknown }
  return languages[chooseLanguage(['en', 'de'], typeof lang === 'string' ? lang : call.headers['accept-language'])]
}
