import { invalidField } from '../../platform/problem.ts'

/** How a country writes its tax ids, without spaces, dots and dashes. Where we don't know, any short id passes. */
const forms: Record<string, { form: RegExp; example: string }> = {
  AT: { form: /^(AT)?U\d{8}$/, example: 'ATU12345678' },
  AU: { form: /^\d{11}$/, example: '12345678912' },
  BE: { form: /^(BE)?[01]\d{9}$/, example: 'BE0123456789' },
  BG: { form: /^(BG)?\d{9,10}$/, example: 'BG123456789' },
  BR: { form: /^(\d{11}|[0-9A-Z]{12}\d{2})$/, example: '01234456543201' },
  CA: { form: /^\d{9}(R[TPC]\d{4})?$/, example: '123456789RT0001' },
  CH: { form: /^(CHE)?\d{9}(MWST|TVA|IVA)?$/, example: 'CHE123456789MWST' },
  CY: { form: /^(CY)?\d{8}[A-Z]$/, example: 'CY12345678Z' },
  CZ: { form: /^(CZ)?\d{8,10}$/, example: 'CZ12345678' },
  DE: { form: /^(DE)?\d{9}$/, example: 'DE123456789' },
  DK: { form: /^(DK)?\d{8}$/, example: 'DK12345678' },
  EE: { form: /^(EE)?\d{9}$/, example: 'EE123456789' },
  ES: { form: /^(ES)?[0-9A-Z]\d{7}[0-9A-Z]$/, example: 'ESA12345678' },
  FI: { form: /^(FI)?\d{8}$/, example: 'FI12345678' },
  FR: { form: /^(FR)?[0-9A-HJ-NP-Z]{2}\d{9}$/, example: 'FRAB123456789' },
  GB: { form: /^(GB|XI)?(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/, example: 'GB123456789' },
  GR: { form: /^(EL|GR)?\d{9}$/, example: 'EL123456789' },
  HR: { form: /^(HR)?\d{11}$/, example: 'HR12345678912' },
  HU: { form: /^(HU)?\d{8}(\d{3})?$/, example: 'HU12345678' },
  IE: { form: /^(IE)?\d[0-9A-Z+*]\d{5}[A-Z]{1,2}$/, example: 'IE1234567WA' },
  IN: { form: /^\d{2}[A-Z]{5}\d{4}[A-Z][0-9A-Z]Z[0-9A-Z]$/, example: '12ABCDE3456FGZH' },
  IT: { form: /^(IT)?\d{11}$/, example: 'IT12345678912' },
  LT: { form: /^(LT)?(\d{9}|\d{12})$/, example: 'LT123456789' },
  LU: { form: /^(LU)?\d{8}$/, example: 'LU12345678' },
  LV: { form: /^(LV)?\d{11}$/, example: 'LV12345678912' },
  MT: { form: /^(MT)?\d{8}$/, example: 'MT12345678' },
  NL: { form: /^(NL)?\d{9}B\d{2}$/, example: 'NL123456789B12' },
  NO: { form: /^(NO)?\d{9}(MVA)?$/, example: 'NO123456789MVA' },
  NZ: { form: /^\d{8,9}$/, example: '123456789' },
  PL: { form: /^(PL)?\d{10}$/, example: 'PL1234567890' },
  PT: { form: /^(PT)?\d{9}$/, example: 'PT123456789' },
  RO: { form: /^(RO)?\d{2,10}$/, example: 'RO1234567891' },
  SE: { form: /^(SE)?\d{12}$/, example: 'SE123456789123' },
  SI: { form: /^(SI)?\d{8}$/, example: 'SI12345678' },
  SK: { form: /^(SK)?\d{10}$/, example: 'SK1234567891' },
  US: { form: /^\d{9}$/, example: '12-3456789' },
  ZA: { form: /^4\d{9}$/, example: '4123456789' },
}
export const taxIdExamples: readonly (readonly [country: string, example: string])[] = Object.entries(forms).map(
  ([country, { example }]) => [country, example],
)

const anyForm = /^[0-9A-Z+*]{2,30}$/

/**
 * Spec silent: the form is that of the billing country. Whether the id belongs to anyone is not asked: that needs the
 * tax office.
 */
export function checkTaxId(taxId: string, country: string | undefined): void {
  if (taxId === '') return
  const plain = taxId.toUpperCase().replaceAll(/[\s.\-/]/g, '')
  const known = country === undefined ? undefined : forms[country]
  if (known && !known.form.test(plain))
    throw invalidField('tax_id', `must look like ${known.example}, as tax ids of ${country} do`)
  if (!anyForm.test(plain)) throw invalidField('tax_id', 'must be 2 to 30 letters and digits')
}
