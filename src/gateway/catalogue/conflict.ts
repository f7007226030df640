/** An entry that is not offered to agents. */
export interface Conflict {
  readonly server_id: string
  readonly kind: 'tool' | 'prompt' | 'resource_template'
  readonly name: string
  readonly reason: string
}
