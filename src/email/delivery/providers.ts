/** Receiving providers by their own domains, as data: whose limits a message falls under. */
const domains: Readonly<Record<string, readonly string[]>> = {
  google: ['gmail.com', 'googlemail.com'],
  yahoo: [
    'yahoo.com',
    'yahoo.co.uk',
    'yahoo.fr',
    'yahoo.de',
    'yahoo.it',
    'yahoo.es',
    'yahoo.co.jp',
    'yahoo.in',
    'ymail.com',
    'rocketmail.com',
    'aol.com',
    'aim.com',
    'verizon.net',
    'att.net',
    'sbcglobal.net',
    'bellsouth.net',
  ],
  outlook: [
    'outlook.com',
    'hotmail.com',
    'live.com',
    'msn.com',
    'hotmail.co.uk',
    'hotmail.fr',
    'hotmail.de',
    'live.co.uk',
    'live.fr',
    'outlook.fr',
    'outlook.de',
    'passport.com',
  ],
  apple: ['icloud.com', 'me.com', 'mac.com'],
  comcast: ['comcast.net'],
  orange: ['orange.fr', 'wanadoo.fr'],
}
const providerByDomain = new Map(Object.entries(domains).flatMap(([name, list]) => list.map(domain => [domain, name])))

/** The provider whose own domain this is; for hosted domains see mx-groups.ts. */
export const providerOfDomain = (domain: string): string | undefined => providerByDomain.get(domain)
