import type { Business } from '../platform/business.ts'
import type { Platform } from '../platform/platform.ts'
import type { DemoLine } from '../platform/service.ts'
import { createCampaign } from './campaigns/campaigns.ts'
import { defineCustomField } from './custom-fields/custom-fields.ts'
import { createList } from './lists/lists.ts'
import { createSegment } from './segments/segments.ts'
import { type Activity, recordActivities } from './subscribers/activity.ts'
import type { Status, Subscriber } from './subscribers/schema.ts'
import { saveSubscriber } from './subscribers/subscribers.ts'

const people = [
  ['Amara', 'Okafor', 'Lagos', 'Nigeria', 'Okafor Textiles'],
  ['Bruno', 'Silva', 'Porto', 'Portugal', ''],
  ['Chen', 'Wei', 'Singapore', 'Singapore', 'Lotus Tea'],
  ['Dana', 'Novak', 'Brno', 'Czechia', ''],
  ['Elif', 'Kaya', 'Izmir', 'Türkiye', 'Kaya Design'],
  ['Farah', 'Haddad', 'Amman', 'Jordan', ''],
  ['Georg', 'Huber', 'Graz', 'Austria', 'Huber & Co'],
  ['Hana', 'Sato', 'Kyoto', 'Japan', ''],
  ['Ivo', 'Petrov', 'Varna', 'Bulgaria', ''],
  ['Julia', 'Lindqvist', 'Malmö', 'Sweden', 'Nordlys'],
  ['Kwame', 'Mensah', 'Accra', 'Ghana', ''],
  ['Lucía', 'Romero', 'Sevilla', 'Spain', 'Romero Vinos'],
  ['Mina', 'Rahimi', 'Toronto', 'Canada', ''],
  ['Noah', 'Fischer', 'Köln', 'Germany', 'Fischer Bikes'],
  ['Olivia', 'Brown', 'Leeds', 'United Kingdom', ''],
  ['Priya', 'Nair', 'Kochi', 'India', 'Monsoon Spices'],
  ['Quinn', 'Murphy', 'Cork', 'Ireland', ''],
  ['Rosa', 'Conti', 'Torino', 'Italy', ''],
  ['Samir', 'Benali', 'Oran', 'Algeria', ''],
  ['Tess', 'de Vries', 'Utrecht', 'Netherlands', 'Windmill Books'],
] as const

const tags = ['customer', 'lead', 'vip', 'workshop']
const statusOf = (i: number): Status =>
  i === 6 ? 'unsubscribed' : i === 10 ? 'bounced' : i === 17 ? 'complaint' : 'subscribed'

/** A small shop: lists, segments, twenty people with a history, a campaign that can be sent and one that is a draft. */
export async function emailDemo(platform: Platform, business: Business): Promise<DemoLine[]> {
  const { db } = platform
  for (const name of ['Newsletter', 'Customers', 'Workshop guests']) await createList(db, business, name)
  await defineCustomField(db, business.id, { name: 'Orders', key: 'orders', type: 'number' }, new Date())
  const all: Subscriber[] = []
  for (const [i, [firstName, lastName, city, country, company]] of people.entries()) {
    const { subscriber } = await saveSubscriber(platform, db, business, {
      email:
        `${firstName}.${lastName}`
          .toLowerCase()
          .normalize('NFD')
          .replaceAll(/[^a-z.]/g, '') + '@example.com',
      firstName,
      lastName,
      city,
      country,
      leadScore: (i * 13) % 70,
      status: statusOf(i),
      tags: [tags[i % 4]!, ...(i % 5 === 0 ? ['vip'] : [])],
      lists: ['Newsletter', ...(i % 3 === 0 ? ['Customers'] : []), ...(i % 4 === 3 ? ['Workshop guests'] : [])],
      customFields: { orders: (i * 3) % 8, ...(company && { company, position: i % 2 ? 'Owner' : 'Buyer' }) },
      source: i % 4 === 0 ? 'manual' : 'api',
    })
    all.push(subscriber)
  }
  const hot = { match: 'all', conditions: [{ field: 'leadScore', operator: 'gte', value: 50 }] }
  await createSegment(db, business, { name: 'Hot leads', rules: hot })
  const buyers = {
    match: 'any',
    conditions: [
      { field: 'customFields.orders', operator: 'gte', value: 5 },
      { field: 'tags', operator: 'equals', value: 'vip' },
    ],
  }
  await createSegment(db, business, { name: 'Good customers', rules: buyers })
  const campaign = await createCampaign(db, business, {
    campaignDetails: {
      campaignName: 'Welcome',
      subject: 'Welcome, {{ firstName | default: "friend" }}!',
      senderName: business.name,
      preheaderText: 'Good to have you with us',
    },
    content:
      '<h1>Hello {{ firstName | default: "there" }}</h1><p>Thank you for joining us{% if customFields.company %} from {{ customFields.company }}{% endif %}.</p><p><a href="https://example.com/shop">See what is new</a></p><p><a href="{{ unsubscribeUrl }}">Unsubscribe</a></p>',
  })
  await createCampaign(db, business, {
    campaignDetails: { campaignName: 'Spring sale', subject: 'Spring sale: 20% off', campaignType: 'Regular' },
    builderType: 'RICH_TEXT',
    content: '<p>Our spring sale begins on Monday.</p><p><a href="{{ unsubscribeUrl }}">Unsubscribe</a></p>',
  })
  await db.begin(tx => recordActivities(tx, business.id, history(all, campaign._id)))
  return [
    {
      label: 'Subscribers',
      text: `curl -s "{base}/subscribers?search=${all[0]!.firstName.toLowerCase()}" -H "{auth}"`,
    },
    { label: 'Statistics', text: 'curl -s "{base}/subscribers/stats" -H "{auth}"' },
  ]
}

/** The welcome mail of last week: everyone got it, most opened it, some clicked. */
function history(all: readonly Subscriber[], campaignId: string): Activity[] {
  const dayMs = 86_400_000
  const week = Date.now() - 7 * dayMs
  return all.flatMap(({ _id: subscriberId }, i) => {
    const one = (kind: Activity['kind'], hours: number): Activity => ({
      subscriberId,
      kind,
      at: new Date(week + hours * 3_600_000),
      campaignId,
      campaignName: 'Welcome',
      isFirst: true,
      isMachine: false,
    })
    return [
      one('sent', 0),
      one('delivered', 0.01),
      ...(i % 3 ? [one('open', 1 + i)] : []),
      ...(i % 4 === 1 ? [one('click', 1.1 + i)] : []),
    ]
  })
}
