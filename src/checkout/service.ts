import { does, queue } from '../platform/jobs.ts'
import type { Service } from '../platform/service.ts'
import { purgeTries } from '../platform/site/tries.ts'
import { customerMails } from './customer-mails.ts'
import { demoLines } from './demo.ts'
import { sweepOrders } from './payments.ts'
import { checkoutPages } from './routes.ts'
import { purgeOrders } from './store.ts'

const sweep = queue<object>('checkout_sweep_orders')
const purge = queue<object>('checkout_purge')

/** The pages where a customer buys and looks after what was bought. They have no API of their own. */
export const checkoutService: Service = {
  name: 'checkout',
  title: 'Checkout',
  base: '/checkout',
  routes: [],
  openRoutes: [],
  pages: checkoutPages,
  eventTypes: [],
  reactions: customerMails,
  work: platform => [
    does(sweep, () => sweepOrders(platform), { cron: '* * * * *', concurrency: 1 }),
    does(
      purge,
      async () => {
        await purgeTries(platform.db)
        await purgeOrders(platform.db)
      },
      { cron: '23 * * * *', concurrency: 1 },
    ),
  ],
  loops: () => [],
  keepers: () => [],
  demo: demoLines,
  audit: async () => [],
}
