import { expect, test } from 'vitest'
import { drawInvoice } from './pdf.ts'

const draw = (seller: string) =>
  drawInvoice({
    seller,
    sellerAddress: ['1 Mill Lane', '97201 Portland', 'OR, US'],
    timeZone: 'UTC',
    row: {
      number: 7n,
      status: 'sent',
      currency: 'EUR',
      netMinor: 3_000n,
      totalMinor: 3_000n,
      dueMinor: 3_000n,
      creditAppliedMinor: 0n,
      offsetMinor: 0n,
      paidMinor: 0n,
      refundedMinor: 0n,
      taxApply: { taxes: [] },
      creditNote: null,
      createdAt: new Date('2026-01-01'),
      issuedAt: new Date('2026-01-01'),
      dueAt: new Date('2026-01-15'),
    },
    lines: [],
    customer: { firstName: 'Ada', lastName: '', companyName: '', emailId: 'ada@example.com', billingAddress: {} },
  } as unknown as Parameters<typeof drawInvoice>[0]).then(pdf => pdf.toString('latin1'))

test('names are drawn in their own letters, with a font in the document only where it is needed', async () => {
  const western = await draw('Müller & Søn')
  expect(western).toContain('/BaseFont /Helvetica')
  expect(western).not.toContain('DejaVu')
  for (const name of ['Piekarnia Łódź', 'Хлебный дом', 'Αρτοποιείο']) {
    const pdf = await draw(name)
    expect(pdf, name).toMatch(/\/BaseFont \/[A-Z]+\+DejaVuSansCondensed-Bold/)
    expect(await draw(name), name).toBe(pdf)
  }
})
