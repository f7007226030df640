import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, ID_PATTERN, Timestamp } from '../../kernel/wire.ts'

export const AppFrameInput = Type.Object(
  {
    server_id: Type.String({ pattern: ID_PATTERN, expected: 'the id of a server', examples: ['github'] }),
    uri: Type.String({
      pattern: '^ui://[^\\u0000-\\u0020\\u007f]{1,1000}$',
      expected: 'the `ui://` address of a page',
      description: '`app_uri` of a tool',
      examples: ['ui://github/issue.html'],
    }),
  },
  { additionalProperties: false },
)
export type AppFrameInput = Static<typeof AppFrameInput>
component({ AppFrameInput }, 'The page of a server to show')

export const AppFrame = Type.Object({
  url: Type.String({
    description: 'Where the page is served, once and for a minute, without the token',
    examples: ['/app-frames/4MmVf3vN0rTq2b7Zc1xYwQ'],
  }),
  expires_at: Timestamp,
  policy: Type.String({
    description: 'The Content-Security-Policy it is served with',
    examples: ["sandbox allow-scripts; default-src 'none'"],
  }),
})
component({ AppFrame }, 'A page of a server, ready to be shown in a frame')

export const FrameKey = Type.Object({ id: Type.String({ pattern: '^[\\w-]{1,64}$' }) })
