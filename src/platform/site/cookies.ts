/** Cookies of our pages: never readable by script, never sent along from other sites' forms. */
export function cookie(
  name: string,
  value: string,
  options: { path: string; maxAgeSeconds: number; publicUrl: string },
): string {
  const secure = options.publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${name}=${value}; Path=${options.path}; Max-Age=${options.maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`
}

/** The value of a cookie in a request; browsers send the one with the longest path first, and that one counts. */
export function readCookie(headers: Record<string, string | string[] | undefined>, name: string): string | undefined {
  const header = headers.cookie
  if (typeof header !== 'string') return undefined
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim()
  }
  return undefined
}
