/** Markup that begins with <mjml is MJML whatever the builder says. */
export const isMjml = (builderType: string, source: string) =>
  builderType === 'MJML' || /^\s*(<\?xml[^>]*>\s*)?<mjml[\s>]/i.test(source)

/** MJML as HTML, with what is wrong with it. The library is large and slow: call it on the thread for markup only. */
export async function renderMjml(source: string): Promise<{ html: string; errors: string[] }> {
  const { default: mjml2html } = await import('mjml')
  // Includes would read files of this machine.
  const { html, errors } = await mjml2html(source, {
    validationLevel: 'soft',
    ignoreIncludes: true,
    keepComments: false,
  })
  return { html, errors: errors.map(error => error.formattedMessage) }
}
