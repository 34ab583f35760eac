import { countryCode, countryCodes } from '../billing/countries.ts'
import { type Html, html } from '../platform/html.ts'
import { remembered } from './remembered.ts'
import type { Texts } from './texts/en.ts'

const namesIn = remembered(language => new Intl.DisplayNames(language, { type: 'region' }))

/** By its name; an address may hold one that we do not know. */
export function countryName(country: string, texts: Texts): string {
  const code = countryCode(country)
  return (code && namesIn(texts.language).of(code)) ?? country
}

/** Every country in the order of its name, ready to be put into a list of choices. */
const listIn = remembered(language =>
  countryCodes
    .map(code => ({ code, label: namesIn(language).of(code) ?? code }))
    .sort((a, b) => a.label.localeCompare(b.label, language))
    .map(({ code, label }) => ({ code, option: html`<option value="${code}">${label}</option>` })),
)
const chosen = remembered(key => {
  const [language = '', code] = key.split(' ')
  return html`${listIn(language).map(country =>
    country.code === code
      ? html`<option value="${code}" selected>${namesIn(language).of(code)}</option>`
      : country.option,
  )}`
}, 600)

/** The countries as options, one of them chosen. */
export const countryOptions = (texts: Texts, country: string): Html =>
  chosen(`${texts.language} ${countryCode(country) ?? ''}`)
