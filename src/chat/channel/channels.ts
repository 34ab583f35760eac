import type { Platform } from '../../platform/platform.ts'
import { openSecret, type Setting } from '../settings/settings.ts'
import type { Channel } from './channel.ts'
import { cloudChannel } from './cloud.ts'
import { sandboxChannel } from './sandbox.ts'

/** The channel of a business, as its settings say. */
export function channelOf(platform: Platform, setting: Setting): Channel {
  if (setting.type === 'sandbox') return sandboxChannel(platform.db, setting)
  return cloudChannel(platform, {
    baseUrl: setting.baseUrl,
    phoneNumberId: setting.phoneNumberId,
    businessAccountId: setting.businessAccountId,
    accessToken: openSecret(platform.secrets, setting, 'accessToken') ?? '',
  })
}
