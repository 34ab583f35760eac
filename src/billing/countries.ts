/** Countries by ISO 3166: an address may name one by its code or in English, a tax must find it either way. */
/** Every code of two letters. */
export const countryCodes: readonly string[] =
  `AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
  CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA
  GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE
  KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU
  MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA
  SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM
  US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW`.split(/\s+/)

const otherNames: Record<string, string> = {
  UK: 'GB',
  USA: 'US',
  'UNITED STATES OF AMERICA': 'US',
  'GREAT BRITAIN': 'GB',
  ENGLAND: 'GB',
  SCOTLAND: 'GB',
  WALES: 'GB',
  HOLLAND: 'NL',
  'THE NETHERLANDS': 'NL',
  'CZECH REPUBLIC': 'CZ',
  TURKEY: 'TR',
  'SOUTH KOREA': 'KR',
  'HONG KONG': 'HK',
  MACAU: 'MO',
  UAE: 'AE',
}

const names = new Intl.DisplayNames('en', { type: 'region' })
const byName = new Map<string, string>([
  ...countryCodes.map(code => [String(names.of(code)).toUpperCase(), code] as const),
  ...Object.entries(otherNames),
  ...countryCodes.map(code => [code, code] as const),
])

/** The code of two letters, or undefined for a place we don't know. */
export const countryCode = (country: string): string | undefined => byName.get(country.trim().toUpperCase())
