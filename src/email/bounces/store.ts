import { type Db, first } from '../../platform/database.ts'
import type { Provider } from './notice.ts'

export const webhookOf = (db: Db, businessId: string, serverId: string) =>
  db<{ provider: Provider; sealedSecret: string }[]>`
    select provider, sealed_secret as "sealedSecret" from email_server_webhook
    where business_id = ${businessId} and server_id = ${serverId}`.then(first)

export const saveWebhook = (
  db: Db,
  businessId: string,
  webhook: { serverId: string; provider: Provider; sealedSecret: string; now: Date },
) => db`
  insert into email_server_webhook (business_id, server_id, provider, sealed_secret, created_at)
  values (${businessId}, ${webhook.serverId}, ${webhook.provider}, ${webhook.sealedSecret}, ${webhook.now})
  on conflict (business_id, server_id) do update set provider = excluded.provider, sealed_secret = excluded.sealed_secret`

export const deleteWebhook = (db: Db, businessId: string, serverId: string) => db`
  delete from email_server_webhook where business_id = ${businessId} and server_id = ${serverId}`

export const saveSigning = (
  db: Db,
  businessId: string,
  signing: { serverId: string; domain: string; selector: string; sealedKey: string; publicKey: string; now: Date },
) => db`
  insert into email_server_signing (business_id, server_id, dkim_domain, dkim_selector, sealed_key, public_key, created_at)
  values (${businessId}, ${signing.serverId}, ${signing.domain}, ${signing.selector}, ${signing.sealedKey},
    ${signing.publicKey}, ${signing.now})
  on conflict (business_id, server_id) do update set dkim_domain = excluded.dkim_domain,
    dkim_selector = excluded.dkim_selector, sealed_key = excluded.sealed_key, public_key = excluded.public_key,
    created_at = excluded.created_at`

export const deleteSigning = (db: Db, businessId: string, serverId: string) => db`
  delete from email_server_signing where business_id = ${businessId} and server_id = ${serverId}`

export const serverExists = (db: Db, businessId: string, serverId: string) =>
  db`select 1 from email_delivery_server where business_id = ${businessId} and id = ${serverId}`.then(
    rows => rows.length > 0,
  )
