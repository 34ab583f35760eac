import { invalidField } from '../platform/problem.ts'

/**
 * Decimals by ISO 4217, in a table of our own: `Intl` follows everyday usage instead and moves with the runtime's
 * locale data, so an amount would change its meaning with an update of Node.
 */
const noDecimals = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'
const twoDecimals = `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
  CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR
  IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN
  NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
  THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`
const threeDecimals = 'BHD IQD JOD KWD LYD OMR TND'

const exponents = new Map<string, number>([
  ...noDecimals.split(/\s+/).map(code => [code, 0] as const),
  ...twoDecimals.split(/\s+/).map(code => [code, 2] as const),
  ...threeDecimals.split(/\s+/).map(code => [code, 3] as const),
])

export const currencyCodes: readonly string[] = [...exponents.keys()].sort()

export const isCurrency = (code: string) => exponents.has(code)

/** How many decimals amounts of this currency have. */
export function exponentOf(currency: string, field = 'currency_code'): number {
  const exponent = exponents.get(currency)
  if (exponent === undefined) throw invalidField(field, 'must be an ISO 4217 code such as USD')
  return exponent
}

const symbols: Record<string, string> = {
  AUD: 'A$',
  BDT: '৳',
  BRL: 'R$',
  CAD: 'CA$',
  CNY: 'CN¥',
  CRC: '₡',
  EUR: '€',
  GBP: '£',
  GEL: '₾',
  GHS: 'GH₵',
  HKD: 'HK$',
  ILS: '₪',
  INR: '₹',
  JPY: '¥',
  KHR: '៛',
  KRW: '₩',
  KZT: '₸',
  LAK: '₭',
  MNT: '₮',
  MXN: 'MX$',
  NGN: '₦',
  NZD: 'NZ$',
  PHP: '₱',
  PLN: 'zł',
  PYG: '₲',
  RUB: '₽',
  SGD: 'S$',
  THB: '฿',
  TRY: '₺',
  TWD: 'NT$',
  UAH: '₴',
  USD: '$',
  VND: '₫',
  XAF: 'FCFA',
  XOF: 'F CFA',
}

/** As people write it; the code itself where there is no sign of its own. */
export const currencySymbol = (currency: string) => symbols[currency] ?? currency
