import { countryCode } from '../billing/countries.ts'
import type { Texts } from './texts/en.ts'

/** By its name; an address may hold one that we do not know. */
export function countryName(country: string, texts: Texts): string {
  const code = countryCode(country)
  return (code && new Intl.DisplayNames(texts.language, { type: 'region' }).of(code)) ?? country
}
