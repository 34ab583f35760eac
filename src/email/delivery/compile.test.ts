import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { type Content, compileContent } from './compile-content.ts'
import { compileMessage, type Envelope, mergeDataOf, type Recipient } from './compile-message.ts'
import { encodeHeaderText } from './header.ts'
import { encodeQuotedPrintable, encodeValue } from './quoted-printable.ts'

const publicUrl = 'https://mail.example.com'

async function compose(source: string, data: Record<string, unknown> = {}, more: Partial<Content & Envelope> = {}) {
  const content = await compileContent({ builderType: 'HTML', source, preheader: '', footer: false, ...more })
  const message = await compileMessage(content, {
    from: { name: 'Ünion Shop', address: 'news@shop.example' },
    subject: 'Hello',
    attachments: [],
    headers: { 'List-Id': '<shop.example>' },
    publicUrl,
    messageIdDomain: 'shop.example',
    ...more,
  })
  const recipient: Recipient = {
    deliveryId: '0123456789abcdef00000001',
    email: 'ada@example.com',
    trackToken: 'TRACK-token_1',
    unsubscribeToken: 'UNSUB-token_1',
    data,
  }
  recipient.data = mergeDataOf(recipient, publicUrl)
  const { buffer, length } = message.fill(recipient, new Date('2026-03-01T10:00:00Z'), Buffer.alloc(0))
  const raw = buffer.subarray(0, length).toString('latin1')
  return { raw, mail: await PostalMime.parse(buffer.subarray(0, length)), content }
}

describe('a message', () => {
  test('carries the values of its recipient, escaped for their place', async () => {
    const { mail, raw } = await compose(
      '<p title="{{ firstName }}">Hi {{ firstName }}</p><img src="https://x.example/{{ firstName }}.png">',
      { firstName: 'A <b> & "c" é' },
    )
    expect(mail.html).toContain('Hi A &lt;b&gt; &amp; &quot;c&quot; é')
    expect(mail.html).toContain('title="A &lt;b&gt; &amp; &quot;c&quot; é"')
    expect(mail.html).toContain('https://x.example/A%20%3Cb%3E%20%26%20%22c%22%20%C3%A9.png')
    expect(mail.text).toContain('Hi A <b> & "c" é')
    expect(Buffer.from(raw, 'latin1').every(byte => byte < 128)).toBe(true)
    expect(mail.from).toEqual({ name: 'Ünion Shop', address: 'news@shop.example' })
    expect(mail.messageId).toBe('<0123456789abcdef00000001@shop.example>')
    expect(mail.date).toBe('2026-03-01T10:00:00.000Z')
  })

  test('has one-click unsubscribe headers and one of each field', async () => {
    const { raw } = await compose('<p>x</p>')
    const head = raw.slice(0, raw.indexOf('\r\n\r\n'))
    const names = [...head.matchAll(/^([A-Za-z-]+):/gm)].map(match => match[1])
    expect(new Set(names).size).toBe(names.length)
    expect(head).toContain('List-Unsubscribe: <https://mail.example.com/e/u/UNSUB-token_1>')
    expect(head).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click')
  })

  test('tracks links by number, and leaves alone what is none of its business', async () => {
    const { mail, content } = await compose(
      `<a href="https://a.example/?x=1&amp;e={{ email }}">A</a> <a href='https://b.example'>B</a>
       <a href="https://b.example">B again</a> <a href="mailto:x@y.example">M</a> <a href="#top">T</a>
       <a data-no-track href="https://c.example">C</a> <a href="{{ unsubscribeUrl }}">U</a>
       <a href="{% if vip %}https://v.example{% else %}https://n.example{% endif %}">V</a>`,
    )
    expect(content.links).toEqual(['https://a.example/?x=1&e={{ email }}', 'https://b.example'])
    const links = [...(mail.html ?? '').matchAll(/href=["']([^"']*)/g)].map(match => match[1])
    const track = `${publicUrl}/e/c/TRACK-token_1`
    expect(links).toEqual([
      `${track}/0`,
      `${track}/1`,
      `${track}/1`,
      'mailto:x@y.example',
      '#top',
      'https://c.example',
      `${publicUrl}/e/u/UNSUB-token_1`,
      'https://n.example',
    ])
    expect(mail.text).toContain(`A [${track}/0]`)
    expect(mail.html).toContain(`<img src="${publicUrl}/e/o/TRACK-token_1"`)
  })

  test('a value can’t leave an attribute that has no quotes', async () => {
    const { mail } = await compose(
      '<p title={{ firstName }} class=plain>x</p><button formaction={{ lastName }}>y</button><img alt=pic-{{ firstName }}>',
      { firstName: 'a style=color:red', lastName: 'javascript:alert(1)' },
    )
    expect(mail.html).toContain('<p title="a style=color:red" class=plain>x</p><button formaction="#">y</button>')
    expect(mail.html).toContain('<img alt="pic-a style=color:red">')
  })

  test('addresses in the text part are as they are, not escaped for HTML', async () => {
    const web = 'https://w.example/?a=1&b="x"'
    const { mail } = await compose(
      '<a href="{{ customFields.web }}">own</a> <a href="https://x.example/?n={{ firstName }}&amp;m=1" data-no-track>part</a>',
      { customFields: { web }, firstName: "O'Neil & <b>" },
    )
    expect(mail.html).toContain('href="https://w.example/?a=1&amp;b=&quot;x&quot;"')
    expect(mail.text).toContain(`own [${web}]`)
    expect(mail.text).toContain("part [https://x.example/?n=O'Neil%20%26%20%3Cb%3E&m=1]")
  })

  test('a value that is a whole address may not be a script', async () => {
    const { mail } = await compose('<a href="{{ customFields.site }}">S</a>', {
      customFields: { site: 'javascript:alert(1)' },
    })
    expect(mail.html).toContain('href="#"')
  })

  test('conditions choose per recipient', async () => {
    const source = '{% if score > 10 %}<b>hot {{ firstName }}</b>{% elsif score %}warm{% else %}cold{% endif %}!'
    expect((await compose(source, { score: 11, firstName: 'Z' })).mail.html).toContain('<b>hot Z</b>!')
    expect((await compose(source, { score: 1 })).mail.html).toContain('warm!')
    expect((await compose(source)).mail.text).toContain('cold!')
    expect((await compose('{% unless vip %}a{% endunless %}b', { vip: true })).mail.text?.trim()).toBe('b')
  })

  test('styles are put into the elements, MJML becomes HTML, a preheader and a footer appear', async () => {
    const styled = await compose('<style>p { color: red }</style><p>x</p>')
    expect(styled.mail.html).toContain('style="color: red;"')
    const mjml = await compose(
      '<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ firstName }}</mj-text></mj-column></mj-section></mj-body></mjml>',
      { firstName: 'Ada' },
      { builderType: 'MJML', preheader: 'For {{ firstName }}', footer: true },
    )
    expect(mjml.mail.html).toContain('Hi Ada')
    expect(mjml.mail.html).not.toContain('<mj-')
    expect(mjml.mail.html).toMatch(/<body[^>]*><div style="display:none[^>]*>For Ada<\/div>/)
    expect(mjml.mail.html).toContain(`href="${publicUrl}/e/u/UNSUB-token_1"`)
    expect(mjml.mail.text).toContain('Unsubscribe')
  })

  test('subject and attachments', async () => {
    const { mail } = await compose(
      'x',
      { firstName: 'Zoë\r\nBcc: evil@x.example' },
      {
        subject: '{{ firstName }}, {{ x | default: "hi" }}',
        attachments: [{ filename: 'rechnung ä.pdf', contentType: 'application/pdf', content: Buffer.from('%PDF') }],
      },
    )
    expect(mail.subject).toBe('Zoë Bcc: evil@x.example, hi')
    expect(mail.headers.some(header => header.key === 'bcc')).toBe(false)
    expect(mail.attachments).toHaveLength(1)
    expect(mail.attachments[0]).toMatchObject({ filename: 'rechnung ä.pdf', mimeType: 'application/pdf' })
  })

  test('any value arrives as it was, and no line is too long or begins with a dot', async () => {
    const content = await compileContent({
      builderType: 'HTML',
      source: '<pre>a{{ v }}b</pre>\n.\n.. {{ v }}',
      preheader: '',
      footer: false,
    })
    const message = await compileMessage(content, {
      from: { name: '', address: 'a@b.example' },
      subject: 's',
      attachments: [],
      headers: {},
      publicUrl,
      messageIdDomain: 'b.example',
    })
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), async v => {
        fc.pre(!v.includes('\u0000') && !v.includes('\r') && v.isWellFormed())
        const recipient: Recipient = {
          deliveryId: 'd',
          email: 'x@y.example',
          trackToken: 't',
          unsubscribeToken: 'u',
          data: { v },
        }
        recipient.data = mergeDataOf(recipient, publicUrl)
        const { buffer, length } = message.fill(recipient, new Date(0), Buffer.alloc(10))
        const raw = buffer.subarray(0, length).toString('latin1')
        expect(raw.split('\r\n').every(line => line.length <= 78 && !line.startsWith('.'))).toBe(true)
        const mail = await PostalMime.parse(buffer.subarray(0, length))
        const shown = v.replaceAll(
          /[&<>"']/g,
          c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? '&#39;',
        )
        expect(mail.html).toContain(`a${shown}b`)
      }),
      { numRuns: 200 },
    )
  })
})

test('quoted-printable values stand for themselves', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), text => {
      const encoded = encodeValue(text)
      const decoded = encoded
        .replaceAll('=\r\n', '')
        .replaceAll('\r\n', '\n')
        .replaceAll(/(=[0-9A-F]{2})+/g, part => Buffer.from(part.replaceAll('=', ''), 'hex').toString())
      expect(decoded).toBe(text.replaceAll(/\r\n?/g, '\n'))
    }),
  )
  expect(encodeQuotedPrintable('. a ')).toBe('=2E a=20')
})

test('header text folds and encodes', () => {
  expect(encodeHeaderText('Subject', 'plain words')).toBe('plain words')
  expect(
    encodeHeaderText('Subject', 'word '.repeat(40))
      .split('\r\n ')
      .every(line => line.length <= 76),
  ).toBe(true)
  expect(
    encodeHeaderText('Subject', 'é'.repeat(80))
      .split('\r\n ')
      .every(line => line.length <= 76),
  ).toBe(true)
})
