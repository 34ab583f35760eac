/** Words by which people stop and resume marketing, alone in a message; any case, in several languages. */
const stopWords = new Set([
  'stop',
  'stop all',
  'stopall',
  'unsubscribe',
  'opt out',
  'optout',
  'cancel',
  'end',
  'quit',
  'stopp',
  'abmelden',
  'abbestellen',
  'arret',
  'arrêt',
  'arrêter',
  'désabonner',
  'desabonner',
  'alto',
  'parar',
  'baja',
  'cancelar',
  'sair',
  'pare',
  'ferma',
  'annulla',
  'disiscriviti',
  'afmelden',
  'berhenti',
  'dur',
  'стоп',
  'отписаться',
  'रोकें',
  'बंद करें',
  'توقف',
  'إيقاف',
  '停止',
  '退订',
  '停止する',
])
const startWords = new Set([
  'start',
  'unstop',
  'subscribe',
  'opt in',
  'optin',
  'resume',
  'anmelden',
  'weiter',
  'démarrer',
  'demarrer',
  'commencer',
  'reprendre',
  'iniciar',
  'alta',
  'comenzar',
  'começar',
  'inizia',
  'aanmelden',
  'mulai',
  'başla',
  'старт',
  'शुरू',
  'शुरू करें',
  'ابدأ',
  '开始',
  '订阅',
  '開始',
])

/** The whole message must be the word: "please don't stop" stops nothing. */
export function readKeyword(text: string): 'stop' | 'resume' | undefined {
  const word = text
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replaceAll(/[.!]+$/g, '')
  if (stopWords.has(word)) return 'stop'
  if (startWords.has(word)) return 'resume'
  return undefined
}
