/**
 * A refusal that the caller can act on. Rules throw it, the edge renders it once, in the failure body every
 * service shares. Anything else that is thrown is our fault and answers 500.
 */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly errors: FieldError[] | undefined
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    message: string,
    more: { errors?: FieldError[]; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.errors = more.errors
    this.headers = more.headers ?? {}
  }
}

export interface FieldError {
  field: string
  message: string
}

/** 400: the request breaks a stated form. Name the fields at fault. */
export const badRequest = (code: string, message: string, errors?: FieldError[]) =>
  new Problem(400, code, message, { errors })

/** 400 for one field, in the form schema validation uses. */
export const invalidField = (field: string, message: string) =>
  new Problem(400, 'validation_failed', `${field} ${message}.`, { errors: [{ field, message }] })

export const paymentRequired = (code: string, message: string) => new Problem(402, code, message)
export const forbidden = (code: string, message: string) => new Problem(403, code, message)

/** 404: missing, or another business's, which must look the same. */
export const notFound = (what: string) =>
  new Problem(404, `${what.toLowerCase().replaceAll(/[^a-z]+/g, '_')}_not_found`, `${what} not found.`)

export const conflict = (code: string, message: string, errors?: FieldError[]) =>
  new Problem(409, code, message, { errors })

/** 422: well formed, but breaks a rule. */
export const unprocessable = (code: string, message: string, errors?: FieldError[]) =>
  new Problem(422, code, message, { errors })

export const tooMany = (code: string, message: string, retryAfterSeconds: number) =>
  new Problem(429, code, message, { headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) } })

export const badGateway = (code: string, message: string) => new Problem(502, code, message)
export const unavailable = (code: string, message: string) =>
  new Problem(503, code, message, { headers: { 'retry-after': '1' } })
export const outcomeUnknown = (code: string, message: string) => new Problem(504, code, message)

/** Throws inside an expression: `(await find()) ?? fail(notFound('List'))`. */
export function fail(problem: Error): never {
  throw problem
}

export interface FailureBody {
  success: false
  status: 'error'
  code: string
  message: string
  errors?: FieldError[]
  requestId: string
}

export function failureBody(problem: Problem, requestId: string): FailureBody {
  const { code, message, errors } = problem
  return { success: false, status: 'error', code, message, ...(errors?.length && { errors }), requestId }
}
