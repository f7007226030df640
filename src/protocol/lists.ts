/** A tool, prompt, resource or resource template as its server describes it, unknown fields included. */
export type Definition = Readonly<Record<string, unknown>>

/** The lists of a server other than its tools. */
export interface OtherLists {
  readonly prompts: readonly Definition[]
  readonly resources: readonly Definition[]
  readonly resource_templates: readonly Definition[]
}

export type ListKind = keyof OtherLists
