import type { Platform } from '../../platform/platform.ts'

/** The built-in outbox of a business, where mail is looked at instead of being sent. Whoever has the link may look. */
export const outboxLink = (platform: Pick<Platform, 'config' | 'secrets'>, businessId: string): string =>
  `${platform.config.publicUrl}/outbox/${platform.secrets.token('outbox', businessId)}`

export const readOutboxToken = (platform: Pick<Platform, 'secrets'>, token: string): string | undefined =>
  platform.secrets.readToken('outbox', token)
