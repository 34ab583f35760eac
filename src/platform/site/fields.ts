import { type Html, html } from '../html.ts'

/** Labelled form fields whose fault stands beside them and is read out with them. */
export interface FieldParts {
  name: string
  label: string
  value?: string | undefined
  error?: string | undefined
  hint?: string | undefined
  /** the word that marks a field as not required; without it the field is required */
  optional?: string | undefined
  type?: string
  autocomplete?: string
  inputmode?: string
  maxlength?: number
  min?: number
  max?: number
  width?: 'half' | 'half keep' | 'third'
  placeholder?: string
  /** the page asks the server again when it changes */
  live?: boolean
}

export const fieldId = (name: string) => `f-${name.replaceAll(/[^\w-]/g, '-')}`

export function textField(parts: FieldParts): Html {
  const { name, value = '', type = 'text', autocomplete, inputmode, maxlength = 255, min, max, placeholder } = parts
  return field(
    parts,
    html`<input id="${fieldId(name)}" name="${name}" type="${type}" value="${value}" maxlength="${maxlength}"${[
      autocomplete && html` autocomplete="${autocomplete}"`,
      inputmode && html` inputmode="${inputmode}"`,
      min !== undefined && html` min="${min}"`,
      max !== undefined && html` max="${max}"`,
      placeholder && html` placeholder="${placeholder}"`,
    ]}${common(parts)}>`,
  )
}

export interface Choice {
  value: string
  label: string
}

export function selectField(parts: FieldParts & { choices: readonly Choice[]; more?: Html }): Html {
  const { name, value, autocomplete, choices, more } = parts
  return field(
    parts,
    html`<select id="${fieldId(name)}" name="${name}"${autocomplete && html` autocomplete="${autocomplete}"`}${common(parts)}>${choices.map(
      choice =>
        html`<option value="${choice.value}"${choice.value === value && html` selected`}>${choice.label}</option>`,
    )}${more}</select>`,
  )
}

/** Attributes that inputs and selects share. The browser's own checks stay off: our words are kinder and in one place. */
function common({ name, error, hint, optional, live }: FieldParts): Html {
  const described = [hint && `${fieldId(name)}-hint`, error && `${fieldId(name)}-error`].filter(Boolean).join(' ')
  return html`${[
    !optional && html` aria-required="true"`,
    error && html` aria-invalid="true"`,
    described && html` aria-describedby="${described}"`,
    live && html` data-live`,
  ]}`
}

function field({ name, label, error, hint, optional, width }: FieldParts, control: Html): Html {
  const id = fieldId(name)
  return html`<div class="field${width && ` ${width}`}">
<label for="${id}">${label}${optional && html` <span class="optional">${optional}</span>`}</label>
${control}
${hint && html`<span class="hint" id="${id}-hint">${hint}</span>`}
${error && html`<span class="error" id="${id}-error">${error}</span>`}
</div>`
}

/** Every fault of a form in one place, first thing on the page, each leading to its field. */
export function faultSummary(title: string, faults: Readonly<Record<string, string>>): Html | undefined {
  const entries = Object.entries(faults)
  if (entries.length === 0) return undefined
  return html`<div class="notice bad" role="alert" id="faults" tabindex="-1"><p><strong>${title}</strong></p><ul>${entries.map(
    ([name, message]) => html`<li><a href="#${fieldId(name)}">${message}</a></li>`,
  )}</ul></div>`
}
