import * as Type from 'typebox'
import { component, listOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import { closed, text } from '../../kernel/schema-fields.ts'

const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  expected: 'a single line of text',
  examples: ['Claude Code on the laptop'],
})
const AgentType = text(
  'The agent that uses the key. Its calls are listed under this type in metrics, logs and the live stream',
  {
    pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
    expected: 'an agent type: lower-case letters, digits and -, at most 64 characters',
    examples: ['claude-code'],
  },
)

export const KeyInput = closed({ name: Type.Optional(Name), agent_type: AgentType })
export type KeyInput = Type.Static<typeof KeyInput>
component({ GatewayKeyInput: KeyInput }, 'A gateway key to create', {
  examples: [{ agent_type: 'claude-code' }],
})

export const KeyView = Type.Object({
  id: Type.String({ examples: ['key_0123456789ab'] }),
  name: Name,
  agent_type: AgentType,
  created_at: Timestamp,
  last_used_at: orNull(Timestamp),
})
export type KeyView = Type.Static<typeof KeyView>
component({ GatewayKey: KeyView }, 'A gateway key, without its value')
export const KeyList = listOf(KeyView)

export const NewKey = Type.Object({
  ...KeyView.properties,
  key: text('Shown only once. Toolroom stores a digest of it', { examples: ['tk_…'] }),
})
export type NewKey = Type.Static<typeof NewKey>
component({ NewGatewayKey: NewKey }, 'The new gateway key')

export const KeyId = Type.Object({ id: Type.String({ examples: ['key_0123456789ab'] }) })
