import type { MailTexts } from './mails-en.ts'

export const mailsDe: MailTexts = {
  open: 'Mein Konto öffnen',
  paid: (amount, business) => `wir haben Ihre Zahlung von ${amount} an ${business} erhalten. Vielen Dank.`,
  credited: business => `hier ist Ihre Rechnung von ${business}. Ihr Guthaben deckt sie, es ist nichts zu zahlen.`,
  due: (amount, date) => `hier ist Ihre Rechnung über ${amount}. Bitte zahlen Sie bis zum ${date}.`,
  failedSubject: business => `Ihre Zahlung an ${business} ist fehlgeschlagen`,
  failed: (amount, product) => `wir konnten ${amount} für ${product} nicht von Ihrer Karte einziehen.`,
  retry: date =>
    `Wir versuchen es am ${date} noch einmal. Wenn Sie mit einer anderen Karte zahlen möchten, ändern Sie sie vorher in Ihrem Konto.`,
  changeCard: 'Meine Karte ändern',
  confirmSubject: business => `Bitte bestätigen Sie Ihre Zahlung an ${business}`,
  confirm: (amount, product) =>
    `Ihre Bank bittet Sie, die Zahlung von ${amount} für ${product} zu bestätigen. Vorher kann sie nicht ausgeführt werden.`,
  confirmHint: 'Bitte tun Sie das innerhalb eines Tages: Der Knopf führt zu der Seite, auf der Sie bestätigen.',
  confirmElsewhere:
    'Bitte wenden Sie sich an Ihre Bank, oder zahlen Sie mit einer anderen Karte: Ändern Sie sie in Ihrem Konto.',
  confirmButton: 'Zahlung bestätigen',
  overdueSubject: number => `Rechnung ${number} ist überfällig`,
  overdue: (amount, number) => `die Rechnung ${number} über ${amount} wurde nicht rechtzeitig bezahlt.`,
  overdueCard:
    'Wir belasten Ihre Karte nicht weiter. Ändern Sie sie in Ihrem Konto, oder schreiben Sie uns, wenn etwas nicht stimmt.',
  overdueOffline: 'Falls Sie schon gezahlt haben, betrachten Sie diese Erinnerung bitte als gegenstandslos.',
  refundSubject: business => `Ihre Erstattung von ${business}`,
  refunded: amount => `wir haben Ihnen ${amount} erstattet. Bis Ihre Bank es zeigt, können einige Tage vergehen.`,
  refundedAsCredit: amount =>
    `wir haben Ihnen ${amount} gutgeschrieben. Das Guthaben wird mit Ihren nächsten Rechnungen verrechnet.`,
  refundedOutside: amount => `wir haben eine Erstattung von ${amount} an Sie vermerkt.`,
  changed: plan => `Ihr Tarif ist jetzt ${plan}.`,
  renewSubject: (product, date) => `${product} verlängert sich am ${date}`,
  renews: (plan, date) => `Ihr Abonnement ${plan} verlängert sich am ${date}.`,
  renewHint: 'Sie müssen nichts tun. Wenn Sie es ändern oder beenden möchten, tun Sie das vorher in Ihrem Konto.',
  endSubject: product => `Ihr Abonnement von ${product}`,
  ended: plan => `Ihr Abonnement ${plan} ist beendet. Es wird nichts mehr abgebucht.`,
  ends: (plan, date) => `Ihr Abonnement ${plan} endet am ${date}. Bis dahin ändert sich für Sie nichts.`,
  endHint: 'Wenn Sie das nicht wollten oder es sich anders überlegt haben, öffnen Sie Ihr Konto.',
}
