/** What we write to customers as their subscriptions live on, in English. */
export const mailsEn = {
  open: 'Open my account',
  paid: (amount: string, business: string) => `we received your payment of ${amount} to ${business}. Thank you.`,
  credited: (business: string) =>
    `here is your invoice from ${business}. Your credit covers it; there is nothing to pay.`,
  due: (amount: string, date: string) => `here is your invoice over ${amount}. Please pay it by ${date}.`,
  failedSubject: (business: string) => `Your payment to ${business} failed`,
  failed: (amount: string, product: string) => `we could not collect ${amount} for ${product} from your card.`,
  retry: (date: string) => `We try again on ${date}. To pay with another card, change it in your account before then.`,
  changeCard: 'Change my card',
  confirmSubject: (business: string) => `Please confirm your payment to ${business}`,
  confirm: (amount: string, product: string) =>
    `your bank asks you to confirm the payment of ${amount} for ${product}. Until then it can’t be made.`,
  confirmHint: 'Please do so within a day: the button leads to the page where you confirm it.',
  confirmElsewhere: 'Please write to your bank, or pay with another card: change it in your account.',
  confirmButton: 'Confirm the payment',
  overdueSubject: (number: string) => `Invoice ${number} is overdue`,
  overdue: (amount: string, number: string) => `invoice ${number} over ${amount} has not been paid in time.`,
  overdueCard: 'We stop trying to charge your card. Change it in your account, or write to us if something is wrong.',
  overdueOffline: 'If you have paid already, please excuse this reminder.',
  refundSubject: (business: string) => `Your refund from ${business}`,
  refunded: (amount: string) => `we gave ${amount} back to you. It can take some days until your bank shows it.`,
  refundedAsCredit: (amount: string) => `we credited ${amount} to you. It is used for your next invoices by itself.`,
  refundedOutside: (amount: string) => `we recorded a refund of ${amount} to you.`,
  changed: (plan: string) => `your plan is now ${plan}.`,
  renewSubject: (product: string, date: string) => `${product} renews on ${date}`,
  renews: (plan: string, date: string) => `your subscription to ${plan} renews on ${date}.`,
  renewHint: 'You need not do anything. If you want to change or end it, do so in your account before that day.',
  endSubject: (product: string) => `Your ${product} subscription`,
  ended: (plan: string) => `your subscription to ${plan} has ended. Nothing more is charged.`,
  ends: (plan: string, date: string) =>
    `your subscription to ${plan} ends on ${date}. Until then nothing changes for you.`,
  endHint: 'If you did not ask for this, or have changed your mind, open your account.',
}

export type MailTexts = typeof mailsEn
