/** How a command line begins on the computer of the service: `toolroom`, or what runs it there. The development server fills in nothing. */
const given = document.querySelector<HTMLMetaElement>('meta[name="program"]')?.content ?? ''
export const program = given === '' || given.startsWith('%') ? 'toolroom' : given

/** A hint of the service, with its commands as they are typed on that computer. */
export const asTyped = (hint: string): string =>
  hint.replace(/(?<=^|`|: |[Rr]un |or )toolroom(?= [a-z])/g, () => program)
