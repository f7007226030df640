/** What is wrong in a file, without the path and the place that stand beside it. */
export const faultIn = ({ message }: { readonly message: string }): string =>
  message.replace(/^.*column \d+: (?:Invalid \w+: )?/s, '')
