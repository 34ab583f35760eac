import { chooseLanguage } from '../../platform/site/language.ts'

/** Every word of the public pages, one block a language. */
const en = {
  language: 'en',
  title: (list: string) => `Subscribe to ${list}`,
  text: (business: string) => `Get mail from ${business}. We send you a message to confirm your address first.`,
  email: 'Email',
  firstName: 'First name',
  lastName: 'Last name',
  optional: '(optional)',
  leaveEmpty: 'Leave this field empty',
  subscribe: 'Subscribe',
  faultsTitle: 'Please check these points:',
  emailFault: 'Give an email address such as name@example.com.',
  tooLong: (field: string) => `${field} is too long.`,
  tooOften: 'Too many sign-ups came from here. Please wait a quarter of an hour.',
  sent: 'Check your mail',
  sentText: (email: string) => `We sent a message to ${email}. Open it and confirm; until then nothing is sent to you.`,
  mailSubject: (list: string) => `Please confirm: ${list}`,
  mailText: (list: string, business: string) => `please confirm that you want to get “${list}” from ${business}.`,
  hello: (name: string) => (name ? `Hello ${name},` : 'Hello,'),
  mailFoot: 'If you did not ask for this, do nothing: you will get no further mail.',
  confirm: 'Confirm',
  confirmTitle: (list: string) => `Confirm your subscription to ${list}`,
  confirmText: (email: string) => `${email} will get this mail from now on. You can unsubscribe in every message.`,
  done: 'You are subscribed',
  doneText: (list: string) => `Thank you. ${list} comes to you from now on.`,
  over: 'This link does not work any more',
  overText: 'It is older than a week, or was not copied whole. Please sign up again.',
  missing: 'We can’t find this page',
  missingText: 'Check that the whole link was copied, or ask who gave it to you.',
}
type Texts = typeof en

const de: Texts = {
  language: 'de',
  title: list => `${list} abonnieren`,
  text: business => `Erhalten Sie Post von ${business}. Zuerst schicken wir Ihnen eine Nachricht zur Bestätigung.`,
  email: 'E-Mail',
  firstName: 'Vorname',
  lastName: 'Nachname',
  optional: '(freiwillig)',
  leaveEmpty: 'Dieses Feld leer lassen',
  subscribe: 'Abonnieren',
  faultsTitle: 'Bitte prüfen Sie:',
  emailFault: 'Geben Sie eine E-Mail-Adresse an, zum Beispiel name@example.com.',
  tooLong: field => `${field} ist zu lang.`,
  tooOften: 'Von hier kamen zu viele Anmeldungen. Bitte warten Sie eine Viertelstunde.',
  sent: 'Sehen Sie in Ihre Post',
  sentText: email => `Wir haben eine Nachricht an ${email} geschickt. Bestätigen Sie darin; bis dahin kommt nichts.`,
  mailSubject: list => `Bitte bestätigen: ${list}`,
  mailText: (list, business) => `bitte bestätigen Sie, dass Sie „${list}“ von ${business} erhalten möchten.`,
  hello: name => (name ? `Guten Tag ${name},` : 'Guten Tag,'),
  mailFoot: 'Wenn Sie das nicht wollten, tun Sie nichts: Sie erhalten keine weitere Post.',
  confirm: 'Bestätigen',
  confirmTitle: list => `Abonnement von ${list} bestätigen`,
  confirmText: email => `${email} erhält diese Post künftig. Abmelden können Sie sich in jeder Nachricht.`,
  done: 'Sie sind angemeldet',
  doneText: list => `Vielen Dank. ${list} kommt nun zu Ihnen.`,
  over: 'Dieser Link gilt nicht mehr',
  overText: 'Er ist älter als eine Woche oder unvollständig. Bitte melden Sie sich noch einmal an.',
  missing: 'Diese Seite finden wir nicht',
  missingText: 'Prüfen Sie, ob der Link vollständig ist, oder fragen Sie, von wem Sie ihn haben.',
}

export type PublicTexts = Texts

export const publicTexts = (headers: Record<string, string | string[] | undefined>, lang?: unknown): PublicTexts =>
  ({ en, de })[chooseLanguage(['en', 'de'], typeof lang === 'string' && lang ? lang : headers['accept-language'])]
