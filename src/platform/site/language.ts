/** The first of the visitor's languages that we have texts in; the first of ours where there is none. */
export function chooseLanguage<L extends string>(ours: readonly [L, ...L[]], accepted: unknown): L {
  const wanted = String(accepted ?? '')
    .slice(0, 500)
    .split(',')
    .map(part => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const quality = parameters.map(text => /^\s*q=([\d.]+)$/.exec(text)?.[1]).find(text => text !== undefined)
      return { language: tag.split('-')[0], quality: quality === undefined ? 1 : Number(quality) }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
  for (const { language } of wanted) {
    const found = ours.find(one => one === language)
    if (found) return found
  }
  return ours[0]
}
