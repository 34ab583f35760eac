import type { Route } from '../platform/endpoint.ts'
import { serveAssets } from '../platform/site/assets.ts'
import { showCheckout, takeCheckout } from './checkout.ts'
import { checkoutAssets } from './checkout-page.ts'
import { showConfirm, showReturned, takeConfirm } from './confirm.ts'
import { showPage, takeForm } from './page.ts'
import { showReceipt, showReceiptPdf } from './receipt-page.ts'

/** The pages where a customer buys and looks after what was bought, at the root of the server. */
export const checkoutPages: readonly Route[] = [
  ['GET', '/checkout/assets/{file}', serveAssets(checkoutAssets)],
  ['GET', '/checkout/{multiplan_id}', showPage('The page of a multiplan', showCheckout)],
  ['POST', '/checkout/{multiplan_id}', takeForm('Look again, or order', takeCheckout)],
  ['GET', '/checkout/receipt/{token}', showPage('What was bought', showReceipt)],
  ['GET', '/checkout/receipt/{token}/pdf', showPage('Its invoice', showReceiptPdf)],
  ['GET', '/checkout/confirm/{business_id}/{ref}', showPage('The bank of the test gateway asks', showConfirm)],
  ['POST', '/checkout/confirm/{business_id}/{ref}', takeForm('The customer answers', takeConfirm)],
  ['GET', '/checkout/returned/{token}', showPage('Back from the bank', showReturned)],
]
