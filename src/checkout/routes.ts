import type { Route } from '../platform/endpoint.ts'
import { serveAssets } from '../platform/site/assets.ts'
import { showCheckout, showCollected, takeCheckout } from './checkout.ts'
import { checkoutAssets } from './checkout-page.ts'
import { showConfirm, showReturned, takeConfirm } from './confirm.ts'
import { showPage, takeForm } from './page.ts'
import { showCancel, takeCancel, takeWithdraw } from './portal/cancel.ts'
import { showCard, takeCard } from './portal/card.ts'
import { showHome, showInvoicePdf } from './portal/home.ts'
import { showPlan, takePlan } from './portal/plan.ts'
import { showEnter, takeLeave, takeSignIn } from './portal/sign-in.ts'
import { showReceipt, showReceiptPdf } from './receipt-page.ts'

/** The pages where a customer buys and looks after what was bought, at the root of the server. */
export const checkoutPages: readonly Route[] = [
  ['GET', '/checkout/assets/{file}', serveAssets(checkoutAssets)],
  ['GET', '/checkout/{multiplan_id}', showPage('The page of a multiplan', showCheckout)],
  ['POST', '/checkout/{multiplan_id}', takeForm('Look again, or order', takeCheckout)],
  ['GET', '/checkout/{multiplan_id}/collected', showPage('Back from the page that took the card', showCollected)],
  ['GET', '/checkout/receipt/{token}', showPage('What was bought', showReceipt)],
  ['GET', '/checkout/receipt/{token}/pdf', showPage('Its invoice', showReceiptPdf)],
  ['GET', '/checkout/confirm/{business_id}/{ref}', showPage('The bank of the test gateway asks', showConfirm)],
  ['POST', '/checkout/confirm/{business_id}/{ref}', takeForm('The customer answers', takeConfirm)],
  ['GET', '/checkout/returned/{token}', showPage('Back from the bank', showReturned)],

  ['GET', '/portal/{business_id}', showPage('What a customer has', showHome)],
  ['POST', '/portal/{business_id}/link', takeForm('Send me a link', takeSignIn)],
  ['GET', '/portal/{business_id}/enter/{token}', showPage('Open with the link', showEnter)],
  ['POST', '/portal/{business_id}/leave', takeForm('Sign out', takeLeave)],
  ['GET', '/portal/{business_id}/invoices/{invoice_id}/pdf', showPage('An invoice', showInvoicePdf)],
  ['GET', '/portal/{business_id}/subscriptions/{subscription_id}/plan', showPage('Choose another plan', showPlan)],
  ['POST', '/portal/{business_id}/subscriptions/{subscription_id}/plan', takeForm('Preview, then change', takePlan)],
  ['GET', '/portal/{business_id}/subscriptions/{subscription_id}/card', showPage('Another card', showCard)],
  ['POST', '/portal/{business_id}/subscriptions/{subscription_id}/card', takeForm('Save the card', takeCard)],
  ['GET', '/portal/{business_id}/subscriptions/{subscription_id}/cancel', showPage('Cancel', showCancel)],
  ['POST', '/portal/{business_id}/subscriptions/{subscription_id}/cancel', takeForm('Cancel', takeCancel)],
  ['POST', '/portal/{business_id}/subscriptions/{subscription_id}/withdraw', takeForm('Keep my plan', takeWithdraw)],
]
