import type { Component } from '../templates/template.ts'

/** What became of a call to the platform. */
export type Outcome =
  | { result: 'accepted'; platformId: string; answer: PlatformAnswer }
  | { result: 'refused'; error: PlatformError }
  /** no byte left, so it may be tried again */
  | { result: 'not_sent'; reason: string }
  /** it may have been accepted: only its status webhook can tell */
  | { result: 'unknown'; reason: string }

export interface PlatformAnswer {
  messaging_product: string
  contacts: { input: string; wa_id?: string; user_id?: string }[]
  messages: { id: string; message_status?: string }[]
  /** of the HTTP answer */
  status: number
}

export interface PlatformError {
  code: number
  title: string
  details: string
  httpStatus: number
  /** what the platform asked us to wait */
  retryAfterMs?: number
  traceId?: string
}

export interface PlatformTemplate {
  platformId: string
  name: string
  language: string
  category: string
  status: string
  parameterFormat: string
  components: Component[]
  quality: string
  rejectedReason: string
}

export type SendPath = 'messages' | 'marketing_messages'

/** A way to the people: the platform, or something that behaves like it. */
export interface Channel {
  send(payload: object, options: { path: SendPath; now: Date }): Promise<Outcome>
  /** tells the person that their message was read */
  markRead(platformId: string): Promise<void>
  createTemplate(request: {
    definition: Pick<PlatformTemplate, 'name' | 'language' | 'category' | 'parameterFormat' | 'components'> & {
      ttlSeconds?: number
    }
    now: Date
  }): Promise<{ platformId: string; status: string; category: string }>
  /** answers what the channel calls the file */
  uploadMedia(file: { mimeType: string; filename: string; content: Buffer }): Promise<string>
  /** a file that came with a message; throws where it cannot be had */
  fetchMedia(platformId: string): Promise<{ content: Buffer; mimeType: string }>
  /** undefined: the channel keeps none besides ours */
  listTemplates(): Promise<PlatformTemplate[] | undefined>
}
