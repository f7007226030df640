import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, listOf, orNull, Timestamp } from '../../kernel/wire.ts'

const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
  expected: 'a single line of text',
  examples: ['Claude Code on the laptop'],
})
const AgentType = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
  expected: 'an agent type: lower-case letters, digits and -, at most 64 characters',
  description:
    'The agent that uses the key. Its calls are listed under this type in metrics, logs and the live stream',
  examples: ['claude-code'],
})

export const KeyInput = Type.Object(
  { name: Type.Optional(Name), agent_type: AgentType },
  { additionalProperties: false, examples: [{ agent_type: 'claude-code' }] },
)
export type KeyInput = Static<typeof KeyInput>
component({ GatewayKeyInput: KeyInput }, 'A gateway key to create')

export const KeyView = Type.Object({
  id: Type.String({ examples: ['key_0123456789ab'] }),
  name: Name,
  agent_type: AgentType,
  created_at: Timestamp,
  last_used_at: orNull(Timestamp),
})
export type KeyView = Static<typeof KeyView>
component({ GatewayKey: KeyView }, 'A gateway key, without its value')
export const KeyList = listOf(KeyView)

export const NewKey = Type.Object({
  ...KeyView.properties,
  key: Type.String({ description: 'Shown only once. Toolroom stores a digest of it', examples: ['tk_…'] }),
})
export type NewKey = Static<typeof NewKey>
component({ NewGatewayKey: NewKey }, 'The new gateway key')

export const KeyId = Type.Object({ id: Type.String({ examples: ['key_0123456789ab'] }) })
