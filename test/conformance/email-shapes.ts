import { expect } from 'vitest'
import type { Answer, TestBusiness } from '../world.ts'

export const hexId = expect.stringMatching(/^[0-9a-f]{24}$/)
export const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

export const subscriberShape = (shop: TestBusiness) => ({
  _id: hexId,
  userId: shop.userId,
  businessId: shop.id,
  email: expect.any(String),
  firstName: expect.any(String),
  lastName: expect.any(String),
  mobile: expect.any(String),
  leadScore: expect.any(Number),
  dateOfBirth: null,
  status: expect.stringMatching(/^(subscribed|unsubscribed|bounced|complaint)$/),
  country: expect.any(String),
  city: expect.any(String),
  tags: expect.any(Array),
  source: expect.any(String),
  segments: expect.any(Array),
  customFields: expect.any(Object),
  activity: expect.any(Array),
  automationWorkflows: [],
  lists: expect.any(Array),
  totalSent: expect.any(Number),
  totalDelivered: expect.any(Number),
  totalOpens: expect.any(Number),
  totalUniqueOpens: expect.any(Number),
  totalUniqueClick: expect.any(Number),
  totalClicks: expect.any(Number),
  deleteAfter: null,
  suppressionDetail: {
    type: expect.any(String),
    reason: expect.any(String),
    createdAt: timestamp,
    updatedAt: timestamp,
  },
  isSuppressed: expect.any(Boolean),
  campaignDetails: expect.any(Array),
  createdAt: timestamp,
  updatedAt: timestamp,
})

export const listShape = {
  id: hexId,
  name: expect.any(String),
  count: expect.any(Number),
  counts: {
    totalSubscribers: expect.any(Number),
    unsubscribedCount: expect.any(Number),
    engagedCount: expect.any(Number),
    lastUpdated: timestamp,
  },
  createdAt: timestamp,
  updatedAt: timestamp,
}

export const campaignShape = {
  _id: hexId,
  campaignDetails: {
    campaignType: expect.stringMatching(/^(Regular|API \/ Workflow Campaign)$/),
    campaignName: expect.any(String),
    senderName: expect.any(String),
    subject: expect.any(String),
    preheaderText: expect.any(String),
  },
  status: expect.stringMatching(/^(draft|scheduled|live)$/),
  templateId: {
    _id: hexId,
    name: expect.any(String),
    builderType: expect.any(String),
    htmlContent: expect.any(String),
  },
  scheduledAt: null,
  createdAt: timestamp,
  updatedAt: timestamp,
}

/** The envelope around every success. */
export function expectOk(answer: Answer, status = 200) {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.body).toEqual({
    success: true,
    status: 'success',
    message: expect.any(String),
    data: expect.anything(),
  })
  return answer.body.data
}

/** The body of every refusal, with the field at fault where one is. */
export function expectRefused(answer: Answer, status: number, code: string, field?: string) {
  expect({ status: answer.status, code: answer.body?.code }, answer.text).toEqual({ status, code })
  expect(answer.body).toMatchObject({
    success: false,
    status: 'error',
    message: expect.any(String),
    requestId: expect.any(String),
  })
  if (field !== undefined) expect(answer.body.errors.map((error: { field: string }) => error.field)).toContain(field)
}

/** Another business's object answers exactly as a missing one. */
export function expectSameAsMissing(theirs: Answer, missing: Answer) {
  expect(theirs.status).toBe(404)
  expect({ ...theirs.body, requestId: '' }).toEqual({ ...missing.body, requestId: '' })
}
