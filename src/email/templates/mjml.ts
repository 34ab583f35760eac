/** MJML as HTML, with what is wrong with it. The library is large, so it is loaded at its first use. */
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
