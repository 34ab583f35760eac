import { Type } from 'typebox'
import { unprocessable } from '../../../platform/problem.ts'
import { AnyObject, Choice } from '../../../platform/schema.ts'
import { Common, kind } from '../kind.ts'
import { Body, bodyPart, Footer, footerPart, HeaderText, headerPart, interactive, Text } from '../parts.ts'

/** The platform asks for addresses in India only. */
const dialingCodes = { IN: '91' } as const
const Field = Type.Optional(Type.String({ maxLength: 512 }))
const Address = Type.Object({
  name: Field,
  phone_number: Field,
  in_pin_code: Type.Optional(Type.String({ pattern: '^\\d{6}$', patternMessage: 'must have 6 digits' })),
  house_number: Field,
  floor_number: Field,
  tower_number: Field,
  building_name: Field,
  address: Field,
  landmark_area: Field,
  city: Field,
  state: Field,
})

export const addressRequest = kind({
  name: 'address request',
  type: 'interactive',
  interactiveType: 'address_message',
  body: Type.Object({
    ...Common,
    type: Type.Literal('interactive'),
    interactiveType: Type.Literal('address_message'),
    header: Type.Optional(HeaderText),
    body: Body,
    footer: Footer,
    action: Type.Object({
      country: Choice(['IN']),
      values: Type.Optional(Address),
      savedAddresses: Type.Optional(Type.Array(Type.Object({ id: Text(256), value: Address }), { maxItems: 100 })),
      validationErrors: Type.Optional(AnyObject),
    }),
  }),
  build: ({ header, body, footer, action }, { number }) => {
    const { country, values, savedAddresses, validationErrors } = action
    if (number && !number.startsWith(dialingCodes[country]))
      throw unprocessable(
        'address_country_mismatch',
        `Addresses in ${country} can only be asked of numbers that begin with +${dialingCodes[country]}.`,
      )
    return interactive({
      type: 'address_message',
      ...headerPart(header),
      ...bodyPart(body),
      ...footerPart(footer),
      action: {
        name: 'address_message',
        parameters: {
          country,
          ...(values && { values }),
          ...(savedAddresses && { saved_addresses: savedAddresses.map(({ id, value }) => ({ id, value })) }),
          ...(validationErrors && { validation_errors: validationErrors }),
        },
      },
    })
  },
})
