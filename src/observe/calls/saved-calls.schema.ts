import * as Type from 'typebox'
import { component, ID_PATTERN, listOf, Timestamp } from '../../kernel/rest-parts.ts'
import { anyObject, closed, text } from '../../kernel/schema-fields.ts'
import { TOOL_NAME_PATTERN } from '../../servers/shared/tool-settings.ts'

const fields = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    expected: 'a text of 1 to 100 characters',
    examples: ['Open issues of the website'],
  }),
  server_id: Type.String({ pattern: ID_PATTERN, expected: 'the id of a server', examples: ['github'] }),
  tool: text("The server's own name of the tool", { pattern: TOOL_NAME_PATTERN, examples: ['list_issues'] }),
}
const args = anyObject({
  description: 'At most 64 KiB. They are encrypted on disk, and returned as they were sent',
  examples: [{ repo: 'website', state: 'open' }],
})

export const SavedCallInput = closed({ ...fields, arguments: Type.Optional(args) })
export type SavedCallInput = Type.Static<typeof SavedCallInput>
component({ SavedCallInput }, 'A call to save')

export const SavedCall = Type.Object({
  id: Type.String({ examples: ['open-issues'] }),
  ...fields,
  arguments: args,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type SavedCall = Type.Static<typeof SavedCall>
component({ SavedCall }, 'A saved call')
export const SavedCallList = listOf(SavedCall)

export const SavedCallKey = Type.Object({ id: text('An id of your choice', { examples: ['open-issues'] }) })
