import { Type } from 'typebox'
import { invalidField, unprocessable } from '../../../platform/problem.ts'
import { templateContent, textParameter } from '../../templates/components.ts'
import { isAuthentication } from '../../templates/template.ts'
import { kind } from '../kind.ts'
import { TemplateCommon, Values } from '../template-parts.ts'

const maxCode = 15

/** The code goes out twice: in the text, and in the button that copies it. */
export const templateAuthentication = kind({
  name: 'authentication template',
  type: 'template',
  fits: isAuthentication,
  body: Type.Object({
    ...TemplateCommon,
    bodyParams: Type.Optional(Values),
    copyCodeParam: Type.Optional(Type.String({ minLength: 1, maxLength: maxCode })),
  }),
  build: ({ bodyParams, copyCodeParam }, { template, number }) => {
    if (!number)
      throw unprocessable('phone_number_required', 'Authentication templates can only be sent to a phone number.')
    const field = bodyParams?.length ? 'bodyParams[0]' : 'copyCodeParam'
    const code = bodyParams?.[0] ?? copyCodeParam
    if (code === undefined)
      throw unprocessable('template_parameter_missing', 'The code is missing: send it as bodyParams[0].', [
        { field: 'bodyParams[0]', message: 'is required by the template' },
      ])
    if ((bodyParams?.length ?? 0) > 1)
      throw unprocessable('template_parameters_wrong', 'bodyParams takes the code only.')
    checkCode(field, String(code))
    const parameters = [textParameter(String(code), template.parameterFormat === 'NAMED' ? '1' : undefined)]
    return templateContent(template, [
      { type: 'body', parameters },
      { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: String(code) }] },
    ])
  },
})

function checkCode(field: string, code: string): void {
  if ([...code].length > maxCode) throw invalidField(field, `must have at most ${maxCode} characters`)
  if (/\s|\/|\p{Extended_Pictographic}/u.test(code) || code === '')
    throw invalidField(field, 'must be a code without spaces, links or emoji')
}
