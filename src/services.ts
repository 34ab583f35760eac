import { accountService } from './accounts/service.ts'
import { billingService } from './billing/service.ts'
import { chatService } from './chat/service.ts'
import { checkoutService } from './checkout/service.ts'
import { emailService } from './email/service.ts'
import type { TimeKeeper } from './platform/clock.ts'
import type { ServiceName } from './platform/config.ts'
import type { Platform } from './platform/platform.ts'
import type { Service } from './platform/service.ts'

/** The services of this copy; checkout comes with billing, accounts always. */
export function chooseServices(names: readonly ServiceName[], platform: () => Platform): Service[] {
  const all: Service[] = [emailService, chatService, billingService, checkoutService]
  const chosen = all.filter(service =>
    names.some(name => name === (service.name === 'checkout' ? 'billing' : service.name)),
  )
  let keepers: TimeKeeper[] | undefined
  const account: Service = accountService({
    reactions: () => Object.assign({}, ...chosen.map(service => service.reactions?.(platform()))),
    keepers: () => {
      keepers ??= chosen.flatMap(service => service.keepers(platform()))
      return keepers
    },
    catalogue: () =>
      [account, ...chosen].flatMap(service => service.eventTypes.map(type => ({ ...type, service: service.name }))),
  })
  return [account, ...chosen]
}
