/** A tool, prompt, resource or resource template as its server describes it, unknown fields included. */
export type Definition = Readonly<Record<string, unknown>>

/** A server's lists other than its tools. */
export interface OtherLists {
  readonly prompts: readonly Definition[]
  readonly resources: readonly Definition[]
  readonly resource_templates: readonly Definition[]
}

export type ListKind = keyof OtherLists
