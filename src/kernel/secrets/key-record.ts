/** A gateway key as it is stored, by the gateway or with a change of an agent's file. The digest cannot be used as a key. */
export interface KeyRecord {
  readonly id: string
  readonly name: string
  readonly agent_type: string
  readonly digest: string
  readonly created_at: number
  readonly last_used_at: number | null
}
