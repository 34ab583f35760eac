import type { TSchema } from 'typebox'
import type { Endpoint, Route } from './endpoint.ts'
import { type Html, html } from './html.ts'
import type { Service } from './service.ts'

/** The reference of every API on one page, from the schemas; no script, nothing from outside. */
export function referencePage(services: readonly Service[], publicUrl: string): string {
  const shown = services.filter(service => service.routes.length > 0)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Pennypost API reference</title><style>${style}</style></head>
<body><nav><h1>Pennypost</h1>${shown.map(service => html`<h2><a href="#${service.name}">${service.title}</a></h2><ul>${service.routes.map(route => html`<li><a href="#${anchor(service, route)}"><b class="${route[0]}">${route[0]}</b> ${route[1]}</a></li>`)}</ul>`)}${eventLinks(services)}</nav>
<main>${shown.map(service => section(service, publicUrl))}${eventCatalogue(services)}</main></body></html>`.text
}

const style = `:root{color-scheme:light dark;--line:#8884;--soft:#8881}*{box-sizing:border-box}body{margin:0;display:flex;font:15px/1.5 system-ui,sans-serif}nav{width:21rem;height:100vh;position:sticky;top:0;overflow:auto;padding:1rem;border-right:1px solid var(--line);font-size:13px}nav ul{list-style:none;padding:0}nav a{color:inherit;text-decoration:none;overflow-wrap:anywhere}main{flex:1;min-width:0;padding:1rem 2rem;max-width:60rem}article{border-top:1px solid var(--line);padding:1rem 0}h3{font:600 16px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}b{font-size:11px;padding:1px 5px;border-radius:4px;background:var(--soft)}.GET{color:#0a7d38}.POST{color:#1c5fd4}.PUT{color:#b06000}.DELETE{color:#c62828}table{border-collapse:collapse;width:100%;margin:.5rem 0}td,th{text-align:left;vertical-align:top;padding:3px 8px;border-bottom:1px solid var(--line);font-size:13px}code,pre{font:13px ui-monospace,monospace}pre{background:var(--soft);padding:.75rem;overflow:auto;border-radius:6px}@media(max-width:50rem){body{display:block}nav{width:auto;height:auto;position:static}main{padding:1rem}}`

const anchor = (service: Service, [method, path]: Route) =>
  `${service.name}-${method.toLowerCase()}${path.replaceAll(/[^a-z0-9]+/gi, '-')}`

function section(service: Service, publicUrl: string): Html {
  const scheme =
    service.name === 'billing' ? 'Authorization: Basic base64(API_KEY:SECRET_KEY)' : 'Authorization: Bearer API_KEY'
  return html`<section id="${service.name}"><h2>${service.title}</h2>
<p>Base URL <code>${publicUrl}${service.base}</code> · <code>${scheme}</code> · <a href="${service.base}/openapi.json">OpenAPI document</a></p>
${service.routes.map(route => article(service, route))}</section>`
}

function article(service: Service, route: Route): Html {
  const [method, path, endpoint] = route
  return html`<article id="${anchor(service, route)}"><h3><b class="${method}">${method}</b> ${path}</h3><p>${endpoint.summary}${endpoint.description && html`<br>${endpoint.description}`}</p>
${parts(endpoint).map(([title, schema]) => html`<h4>${title}</h4>${table(schema)}`)}
${endpoint.bodies.map(({ title, schema }) => html`<details><summary>Body: ${title}</summary>${table(schema)}</details>`)}
${endpoint.answer && html`<details><summary>Answer</summary><pre>${JSON.stringify(endpoint.answer, undefined, 1)}</pre></details>`}</article>`
}

const eventLinks = (services: readonly Service[]) =>
  html`<h2><a href="#events">Events</a></h2><ul>${services.flatMap(service => service.eventTypes).map(({ type }) => html`<li><a href="#event-${type}">${type}</a></li>`)}</ul>`

/** What every service tells: by webhook, in the feed and in the stream. */
function eventCatalogue(services: readonly Service[]): Html {
  const telling = services.filter(service => service.eventTypes.length > 0)
  return html`<section id="events"><h2>Events</h2>
<p>Sent to webhook endpoints (<code>/account/api/v1/webhooks</code>), kept in a feed (<code>/account/api/v1/events</code>) and told live (<code>/account/api/v1/events/stream</code>). Signed by the Standard Webhooks scheme; the body is <code>{ event_type, event_source, data, create_time }</code>. Below, the shape of <code>data</code> and an example for each type.</p>
${telling.map(
  service =>
    html`<h3>${service.title}</h3>${service.eventTypes.map(
      ({ type, summary, data, example }) => html`<article id="event-${type}"><h3>${type}</h3><p>${summary}</p>
${table(data)}<details><summary>Example</summary><pre>${JSON.stringify(example, undefined, 1)}</pre></details></article>`,
    )}`,
)}</section>`
}

const parts = (endpoint: Endpoint) =>
  (
    [
      ['Path', endpoint.params],
      ['Query', endpoint.query],
      ['Body', endpoint.bodies.length > 0 ? undefined : endpoint.body],
    ] as const
  ).filter((part): part is [(typeof part)[0], TSchema] => part[1] !== undefined)

interface Shape {
  type?: string | string[]
  enum?: unknown[]
  properties?: Record<string, Shape>
  required?: string[]
  items?: Shape
  anyOf?: Shape[]
  description?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  const?: unknown
}

function table(schema: TSchema): Html {
  const shape = schema as Shape
  if (!shape.properties) return html`<pre>${JSON.stringify(schema, undefined, 1)}</pre>`
  return html`<table><tr><th>Field</th><th>Type</th><th></th><th>Notes</th></tr>${rows(shape, '')}</table>`
}

/** Fields of objects inside follow their object: `sections[].title`. */
function rows(shape: Shape, prefix: string): Html[] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, property]) => [
    html`<tr><td><code>${prefix}${name}</code></td><td>${typeName(property)}</td><td>${shape.required?.includes(name) ? 'required' : 'optional'}</td><td>${notes(property)}</td></tr>`,
    ...rows(property, `${prefix}${name}.`),
    ...(property.items ? rows(property.items, `${prefix}${name}[].`) : []),
  ])
}

function typeName(shape: Shape): string {
  if (shape.anyOf) return shape.anyOf.map(typeName).join(' or ')
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  if (shape.type === 'array') return `array of ${shape.items ? typeName(shape.items) : 'anything'}`
  return [shape.type ?? 'anything'].flat().join(' or ')
}

function notes(shape: Shape): string {
  const range = (low: number | undefined, high: number | undefined, unit: string) =>
    low === undefined && high === undefined
      ? undefined
      : `${low ?? ''}${high === undefined ? ' or more' : ` to ${high}`}${unit}`
  return [
    shape.enum?.join(', '),
    range(shape.minLength, shape.maxLength, ' characters'),
    range(shape.minimum, shape.maximum, ''),
    range(shape.minItems, shape.maxItems, ' items'),
    shape.description,
  ]
    .filter(Boolean)
    .join(' · ')
}
