import { unprocessable } from '../../platform/problem.ts'
import type { Gateway } from './gateway.ts'

/** Money that is handed over outside: nothing is charged, payments are recorded by hand. */
const impossible = async () => {
  throw unprocessable('offline_gateway', 'Offline payments are recorded, not charged. Use POST /invoice/recordpayment.')
}

export const offlineGateway: Gateway = {
  id: 'offline',
  caps: { refund: false, webhooks: false, minCharge: () => 0n },
  saveMethod: impossible,
  charge: impossible,
  cancel: impossible,
  refund: impossible,
  fetchState: impossible,
  readWebhook: () => [],
}
