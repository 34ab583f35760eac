import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestBusiness, type World, world } from '../world.ts'
import { campaignShape, expectOk, expectRefused, expectSameAsMissing, hexId, timestamp } from './email-shapes.ts'

let w: World
let shop: TestBusiness
let files: Server
let fileUrl: string
beforeAll(async () => {
  w = await world({ allowPrivateAddresses: ['127.0.0.1'] })
  files = createServer((request, response) => {
    const size = Number(/size=(\d+)/.exec(request.url ?? '')?.[1] ?? 5)
    if (request.url?.startsWith('/missing')) return void response.writeHead(404).end('no')
    if (request.url?.startsWith('/away'))
      return void response.writeHead(302, { location: 'http://10.0.0.1/secret' }).end()
    response.writeHead(200, { 'content-type': 'application/pdf' }).end(Buffer.alloc(size, 'x'))
  }).listen(0, '127.0.0.1')
  await once(files, 'listening')
  fileUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}`
})
afterAll(async () => {
  files.close()
  await w.close()
})
beforeEach(async () => {
  shop = await w.business()
})

const noId = '000000000000000000000000'
const details = (more: object = {}) => ({ campaignName: 'Spring', subject: 'Hello {{ firstName }}', ...more })
const create = async (more: object = {}, body: object = { content: '<p>Hi {{ firstName | default: "there" }}</p>' }) =>
  expectOk(await shop.email.post('/campaigns', { campaignDetails: details(more), ...body }), 201)

describe('POST /campaigns', () => {
  test('an API / Workflow campaign is live at once, with every field', async () => {
    const made = await create({ senderName: 'Shop', preheaderText: 'News inside' })
    expect(made).toEqual({
      ...campaignShape,
      campaignDetails: {
        campaignType: 'API / Workflow Campaign',
        campaignName: 'Spring',
        senderName: 'Shop',
        subject: 'Hello {{ firstName }}',
        preheaderText: 'News inside',
      },
      status: 'live',
      templateId: {
        _id: hexId,
        name: 'Spring',
        builderType: 'HTML',
        htmlContent: '<p>Hi {{ firstName | default: "there" }}</p>',
      },
    })
  })

  test('a Regular one is a draft, or scheduled with a time and lists, and then goes out by the clock', async () => {
    const moved = await w.business({ testMode: true })
    await moved.account.put('/clock', { now: '2026-01-01T00:00:00.000Z' })
    const post = (name: string, more: object) =>
      moved.email.post('/campaigns', {
        campaignDetails: details({ campaignName: name, campaignType: 'Regular' }),
        content: '<p>x</p>',
        ...more,
      })
    expect(expectOk(await post('Draft', {}), 201).status).toBe('draft')
    await moved.email.post('/lists', { name: 'News' })
    await moved.email.post('/subscribers', { email: 'a@b.example', lists: ['News'] })
    const later = expectOk(await post('Later', { scheduledAt: '2026-01-02T00:00:00Z', lists: ['News'] }), 201)
    expect(later).toEqual({ ...campaignShape, status: 'scheduled', scheduledAt: '2026-01-02T00:00:00.000Z' })
    expectRefused(
      await post('Past', { scheduledAt: '2025-01-02T00:00:00Z', lists: ['News'] }),
      422,
      'scheduled_in_the_past',
    )
    expectRefused(await post('NoLists', { scheduledAt: '2026-01-02T00:00:00Z' }), 400, 'validation_failed', 'lists')
    expectRefused(
      await post('Nowhere', { scheduledAt: '2026-01-02T00:00:00Z', lists: ['Nowhere'] }),
      422,
      'list_not_found',
    )
    await moved.account.post('/clock/advance', { days: 2 })
    expect(expectOk(await moved.email.get(`/campaigns/${later._id}`)).status).toBe('live')
    expect(
      await w.db`select total from email_send where business_id = ${moved.id} and campaign_id = ${later._id}`,
    ).toEqual([{ total: 1 }])
  })

  test('a change of its lists keeps whom it leaves out, and the other way round', async () => {
    const moved = await w.business({ testMode: true })
    await moved.account.put('/clock', { now: '2026-01-01T00:00:00.000Z' })
    for (const name of ['All', 'More', 'Out', 'Out too']) await moved.email.post('/lists', { name })
    const people = { a: ['All'], b: ['More'], c: ['All', 'Out'], d: ['All', 'More', 'Out too'], e: ['More', 'Out'] }
    for (const [name, lists] of Object.entries(people))
      await moved.email.post('/subscribers', { email: `${name}@b.example`, lists })
    const reached = async (campaignName: string, first: object, ...changes: object[]) => {
      const { _id } = expectOk(
        await moved.email.post('/campaigns', {
          campaignDetails: details({ campaignName, campaignType: 'Regular' }),
          content: '<p>x</p>',
          ...first,
        }),
        201,
      )
      for (const change of changes) expectOk(await moved.email.put(`/campaigns/${_id}`, change))
      await moved.account.post('/clock/advance', { days: 1 })
      const { deliveries } = expectOk(await moved.email.get(`/deliveries?campaignId=${_id}&limit=100`))
      return deliveries.map((one: { email: string }) => one.email.charAt(0)).sort()
    }
    const at = (day: string) => ({ scheduledAt: `2026-01-0${day}T12:00:00Z` })
    const out = { excludedList: ['Out'] }
    expect(await reached('Lists', { ...at('1'), lists: ['All'], ...out }, { lists: ['More'] })).toEqual(['b', 'd'])
    expect(await reached('Excluded', { ...at('2'), lists: ['All'] }, out)).toEqual(['a', 'd'])
    expect(
      await reached('Both', { ...at('3'), lists: ['All'], ...out }, { lists: ['More'], excludedList: ['Out too'] }),
    ).toEqual(['b', 'e'])
    expect(await reached('None', { ...at('4'), lists: ['All'], ...out }, { excludedList: [] })).toEqual(['a', 'c', 'd'])
    expect(await reached('Draft', out, { lists: ['All'] }, at('5'))).toEqual(['a', 'd'])
  })

  test('from a template, in every builder type', async () => {
    const { template } = expectOk(
      await shop.email.post('/templates', { name: 'T', content: '<b>{{ email }}</b>' }),
      201,
    )
    const made = await create({}, { templateId: template._id })
    expect(made.templateId).toEqual({
      _id: template._id,
      name: 'T',
      builderType: 'HTML',
      htmlContent: '<b>{{ email }}</b>',
    })
    expectRefused(await shop.email.delete(`/templates/${template._id}`), 422, 'template_in_use')
    for (const builderType of ['RICH_TEXT', 'DRAG_AND_DROP'])
      expect(
        (await create({ campaignName: builderType }, { builderType, content: '<p>x</p>' })).templateId.builderType,
      ).toBe(builderType)
    const mjml =
      '<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ firstName }}</mj-text></mj-column></mj-section></mj-body></mjml>'
    expect(
      (await create({ campaignName: 'mjml' }, { builderType: 'MJML', content: mjml })).templateId.htmlContent,
    ).toContain('Hi {{ firstName }}')
    const own = await create({ campaignName: 'mjml by its looks' }, { content: mjml })
    expect(own.templateId).toMatchObject({ builderType: 'HTML', htmlContent: expect.stringContaining('<body') })
    const changed = expectOk(
      await shop.email.put(`/campaigns/${own._id}`, { builderType: 'MJML', content: mjml.replace('Hi', 'Dear') }),
    )
    expect(changed.templateId).toMatchObject({
      builderType: 'MJML',
      htmlContent: expect.stringContaining('Dear {{ firstName }}'),
    })
    expectRefused(
      await shop.email.put(`/campaigns/${own._id}`, { content: '<mjml><mj-x></mj-x></mjml>' }),
      422,
      'template_invalid',
      'content',
    )
  })

  test('refuses what is missing, wrong, too long, unparsable or taken', async () => {
    const post = (body: object) => shop.email.post('/campaigns', body)
    const content = '<p>x</p>'
    expectRefused(await post({}), 400, 'validation_failed', 'campaignDetails')
    expectRefused(
      await post({ campaignDetails: { subject: 's' }, content }),
      400,
      'validation_failed',
      'campaignDetails.campaignName',
    )
    expectRefused(
      await post({ campaignDetails: { campaignName: 'n' }, content }),
      400,
      'validation_failed',
      'campaignDetails.subject',
    )
    expectRefused(
      await post({ campaignDetails: details({ campaignType: 'Other' }), content }),
      400,
      'validation_failed',
    )
    expectRefused(
      await post({ campaignDetails: details({ subject: 'a\r\nBcc: x@y.z' }), content }),
      400,
      'validation_failed',
      'campaignDetails.subject',
    )
    expectRefused(await post({ campaignDetails: details() }), 400, 'validation_failed', 'content')
    expectRefused(
      await post({ campaignDetails: details(), content, templateId: noId }),
      400,
      'validation_failed',
      'content',
    )
    expectRefused(await post({ campaignDetails: details(), templateId: noId }), 422, 'template_not_found', 'templateId')
    expectRefused(
      await post({ campaignDetails: details(), content, builderType: 'PDF' }),
      400,
      'validation_failed',
      'builderType',
    )
    const broken = await post({ campaignDetails: details(), content: '<p>\n  {{ firstName | }</p>' })
    expectRefused(broken, 422, 'template_invalid', 'content')
    expect(broken.body.message).toMatch(/line 2, column \d+/)
    expectRefused(
      await post({ campaignDetails: details({ subject: '{% for x in y %}' }), content }),
      422,
      'template_invalid',
      'campaignDetails.subject',
    )
    await create()
    expectRefused(
      await post({ campaignDetails: details({ campaignName: 'SPRING' }), content }),
      409,
      'campaign_name_taken',
    )
  })
})

describe('GET /campaigns', () => {
  test('pages with its own pagination, filtered by type, capped at 100', async () => {
    for (let i = 0; i < 11; i++) await create({ campaignName: `A${i}` })
    await create({ campaignName: 'R', campaignType: 'Regular' })
    const all = expectOk(await shop.email.get('/campaigns'))
    expect(all.campaigns).toHaveLength(10)
    expect(all.campaigns[0]).toEqual(campaignShape)
    expect(all.campaigns[0].campaignDetails.campaignName).toBe('R')
    expect(all.pagination).toEqual({
      page: 1,
      limit: 10,
      totalCount: 12,
      totalPages: 2,
      hasNextPage: true,
      hasPrevPage: false,
    })
    const count = async (query: string) => expectOk(await shop.email.get(`/campaigns?${query}`)).pagination.totalCount
    expect(await count('campaignType=all')).toBe(12)
    expect(await count('campaignType=Regular')).toBe(1)
    expect(await count(`campaignType=${encodeURIComponent('API / Workflow Campaign')}`)).toBe(11)
    expect(expectOk(await shop.email.get('/campaigns?limit=500')).pagination.limit).toBe(100)
    expect(expectOk(await shop.email.get('/campaigns?page=1000000000')).campaigns).toEqual([])
    for (const query of ['page=0', 'limit=0', 'page=x', 'campaignType=Other'])
      expectRefused(await shop.email.get(`/campaigns?${query}`), 400, 'validation_failed', query.split('=')[0])
  })
})

describe('GET, PUT and DELETE /campaigns/{id}', () => {
  test('one’s own, or 404', async () => {
    const made = await create()
    expect(expectOk(await shop.email.get(`/campaigns/${made._id}`))).toEqual(made)
    const other = await w.business()
    expectSameAsMissing(await other.email.get(`/campaigns/${made._id}`), await other.email.get(`/campaigns/${noId}`))
    expect((await shop.email.get('/campaigns/nonsense')).status).toBe(404)
  })

  test('changes what is given; a live one can not be deleted', async () => {
    const made = await create({ campaignType: 'Regular' })
    const changed = expectOk(
      await shop.email.put(`/campaigns/${made._id}`, { campaignDetails: { subject: 'New' }, content: '<i>y</i>' }),
    )
    expect(changed).toMatchObject({
      campaignDetails: { subject: 'New', campaignName: 'Spring' },
      templateId: { htmlContent: '<i>y</i>' },
      status: 'draft',
      updatedAt: timestamp,
    })
    await create({ campaignName: 'Other' })
    expectRefused(
      await shop.email.put(`/campaigns/${made._id}`, { campaignDetails: { campaignName: 'other' } }),
      409,
      'campaign_name_taken',
    )
    expect(expectOk(await shop.email.put(`/campaigns/${made._id}`, { status: 'live' })).status).toBe('live')
    expectRefused(await shop.email.delete(`/campaigns/${made._id}`), 422, 'campaign_live')
    const draft = await create({ campaignName: 'D', campaignType: 'Regular' })
    expectOk(await shop.email.delete(`/campaigns/${draft._id}`))
    expectRefused(await shop.email.get(`/campaigns/${draft._id}`), 404, 'campaign_not_found')
  })
})

describe('POST /campaigns/send-to-individual', () => {
  const send = (body: object) => shop.email.post('/campaigns/send-to-individual', body)

  test('queues each address once, leaves out the suppressed, makes nobody a subscriber', async () => {
    const { _id } = await create()
    await shop.email.post('/subscribers', { email: 'gone@b.example', status: 'unsubscribed' })
    const emails = ['a@b.example', 'A@B.example', 'gone@b.example', 'c@b.example']
    expect(expectOk(await send({ campaignId: _id, emails }))).toEqual({
      campaignId: _id,
      campaignName: 'Spring',
      totalEmails: 3,
      queued: 2,
      message: expect.any(String),
    })
    expect(expectOk(await shop.email.get('/subscribers')).pagination.totalItems).toBe(1)
  })

  test('an Idempotency-Key queues once', async () => {
    const { _id } = await create()
    const key = { 'idempotency-key': 'send-1' }
    const body = { campaignId: _id, emails: ['a@b.example'] }
    const answers = [
      await shop.email.post('/campaigns/send-to-individual', body, key),
      await shop.email.post('/campaigns/send-to-individual', body, key),
    ]
    expect(answers.map(answer => answer.status)).toEqual([200, 200])
    expect(await w.db`select id from email_send where business_id = ${shop.id}`).toHaveLength(1)
  })

  test('1 to 1,000 valid addresses', async () => {
    const { _id: campaignId } = await create()
    const many = (count: number) => Array.from({ length: count }, (_, i) => `m${i}@b.example`)
    expect(expectOk(await send({ campaignId, emails: many(1_000) })).queued).toBe(1_000)
    expectRefused(await send({ campaignId, emails: many(1_001) }), 400, 'validation_failed', 'emails')
    expectRefused(await send({ campaignId, emails: [] }), 400, 'validation_failed', 'emails')
    expectRefused(await send({ campaignId }), 400, 'validation_failed', 'emails')
    expectRefused(await send({ emails: ['a@b.example'] }), 400, 'validation_failed', 'campaignId')
    expectRefused(
      await send({ campaignId, emails: ['a@b.example', 'b', 'c@d'] }),
      400,
      'validation_failed',
      'emails[2]',
    )
    expectRefused(await send({ campaignId, emails: 'a@b.example' }), 400, 'validation_failed', 'emails')
  })

  test('refuses missing, foreign and not live campaigns, unknown servers and wrong senders', async () => {
    const emails = ['a@b.example']
    const theirs = await w.business()
    const foreign = (await theirs.email.post('/campaigns', { campaignDetails: details(), content: 'x' })).body.data
    expectSameAsMissing(await send({ campaignId: foreign._id, emails }), await send({ campaignId: noId, emails }))
    const draft = await create({ campaignType: 'Regular' })
    const refused = await send({ campaignId: draft._id, emails })
    expectRefused(refused, 422, 'campaign_not_live')
    expect(refused.body.message).toBe('Campaign "Spring" is a draft; only a live campaign can be sent.')
    const { _id: campaignId } = await create({ campaignName: 'Live' })
    expectRefused(
      await send({ campaignId, emails, deliveryServerId: noId }),
      422,
      'delivery_server_not_found',
      'deliveryServerId',
    )
    expectRefused(await send({ campaignId, emails, senderEmail: 'nobody' }), 400, 'validation_failed', 'senderEmail')
    expectRefused(await send({ campaignId, emails, subject: '{{' }), 422, 'template_invalid', 'subject')
    const { deliveryServer } = expectOk(
      await shop.email.post('/delivery-servers', { name: 'S', host: 'smtp.example.com' }),
      201,
    )
    const said = {
      deliveryServerId: deliveryServer.id,
      senderEmail: 'me@shop.example',
      fromName: 'Me',
      subject: 'Other',
    }
    expect(expectOk(await send({ campaignId, emails, ...said })).queued).toBe(1)
  })

  test('attachments: an extension, a public address, 1 MB at most', async () => {
    const { _id: campaignId } = await create()
    const attach = (...attachments: object[]) => send({ campaignId, emails: ['a@b.example'], attachments })
    expectOk(await attach({ filename: 'a.pdf', url: `${fileUrl}/?size=1048576` }))
    expect(
      await w.db`select filename, content_type, length(content) as size from email_send_attachment where business_id = ${shop.id}`,
    ).toEqual([{ filename: 'a.pdf', content_type: 'application/pdf', size: 1_048_576 }])
    expectRefused(
      await attach({ filename: 'a.pdf', url: `${fileUrl}/?size=1048577` }),
      422,
      'attachment_refused',
      'attachments[0].url',
    )
    for (const filename of ['a', 'a.', '.pdf', '../a.pdf', 'a.pdf\r\nX: y', ''])
      expectRefused(await attach({ filename, url: fileUrl }), 400, 'validation_failed', 'attachments[0].filename')
    for (const url of [
      'http://10.0.0.1/x',
      'http://169.254.169.254/',
      'http://localhost:1/',
      'ftp://b.example/x',
      'nonsense',
      `${fileUrl}/missing`,
      `${fileUrl}/away`,
    ])
      expectRefused(
        await attach({ filename: 'ok.txt', url: `${fileUrl}/` }, { filename: 'b.txt', url }),
        422,
        'attachment_refused',
        'attachments[1].url',
      )
    expectRefused(
      await attach(...Array.from({ length: 11 }, () => ({ filename: 'a.txt', url: fileUrl }))),
      400,
      'validation_failed',
      'attachments',
    )
    expect(await w.db`select id from email_send where business_id = ${shop.id}`).toHaveLength(1)
  })
})

describe('POST /campaigns/send-to-list', () => {
  const send = (body: object) => shop.email.post('/campaigns/send-to-list', body)

  test('each subscribed person once, by ids and names, less the excluded and the suppressed', async () => {
    const { _id: campaignId } = await create()
    const lists = []
    for (const name of ['A', 'B', 'C']) lists.push((await shop.email.post('/lists', { name })).body.data.list)
    await shop.email.post('/segments', {
      name: 'Hot',
      rules: { match: 'all', conditions: [{ field: 'leadScore', operator: 'gte', value: 50 }] },
    })
    const people: [string, object][] = [
      ['both', { lists: ['A', 'B'] }],
      ['only', { lists: ['A'] }],
      ['out', { lists: ['A', 'C'] }],
      ['left', { lists: ['A'], status: 'unsubscribed' }],
      ['manual', { lists: ['B'] }],
      ['hot', { leadScore: 70 }],
      ['none', {}],
      ['deleted', { lists: ['A'] }],
    ]
    for (const [name, more] of people) await shop.email.post('/subscribers', { email: `${name}@b.example`, ...more })
    await shop.email.delete('/subscribers', { emails: ['deleted@b.example'] })
    await shop.email.post('/suppressions', { email: 'manual@b.example' })
    const answer = expectOk(await send({ campaignId, includedList: [lists[0].id, 'b', 'HOT'], excludedList: ['C'] }))
    expect(answer).toEqual({
      campaignId,
      campaignName: 'Spring',
      totalEmails: 3,
      queued: 3,
      message: expect.any(String),
    })
    const mailed = await w.db<{ emails: string[] }[]>`select emails from email_block where business_id = ${shop.id}`
    expect(mailed.flatMap(block => block.emails).sort()).toEqual(['both@b.example', 'hot@b.example', 'only@b.example'])
    expect(expectOk(await send({ campaignId, includedList: ['C'], excludedList: ['A'] }))).toMatchObject({
      totalEmails: 0,
      queued: 0,
    })
  })

  test('refuses missing lists, unknown names, missing and not live campaigns', async () => {
    const { _id: campaignId } = await create()
    await shop.email.post('/lists', { name: 'A' })
    expectRefused(await send({ campaignId }), 400, 'validation_failed', 'includedList')
    expectRefused(await send({ campaignId, includedList: [] }), 400, 'validation_failed', 'includedList')
    expectRefused(await send({ includedList: ['A'] }), 400, 'validation_failed', 'campaignId')
    expectRefused(await send({ campaignId, includedList: ['A', 'Nowhere'] }), 422, 'list_not_found', 'includedList')
    expectRefused(await send({ campaignId: noId, includedList: ['A'] }), 404, 'campaign_not_found')
    const draft = await create({ campaignName: 'D', campaignType: 'Regular' })
    expectRefused(await send({ campaignId: draft._id, includedList: ['A'] }), 422, 'campaign_not_live')
  })
})
