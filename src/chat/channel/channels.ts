import type { Platform } from '../../platform/platform.ts'
import { openSecret, type Setting } from '../settings/settings.ts'
import type { Channel } from './channel.ts'
import { cloudChannel } from './cloud.ts'
import { sandboxChannel } from './sandbox.ts'

/** By the settings as they were read, so that a busy business does not open its token for every message. */
const channels = new WeakMap<Setting, Channel>()

/** The channel of a business, as its settings say. */
export function channelOf(platform: Platform, setting: Setting): Channel {
  let channel = channels.get(setting)
  if (!channel) {
    channel = openChannel(platform, setting)
    channels.set(setting, channel)
  }
  return channel
}

function openChannel(platform: Platform, setting: Setting): Channel {
  if (setting.type === 'sandbox') return sandboxChannel(platform.db, setting)
  return cloudChannel(platform, {
    baseUrl: setting.baseUrl,
    phoneNumberId: setting.phoneNumberId,
    businessAccountId: setting.businessAccountId,
    accessToken: openSecret(platform.secrets, setting, 'accessToken') ?? '',
  })
}
