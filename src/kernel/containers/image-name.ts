/** The pattern of an image's name. It may have a registry, a tag and a digest. */
export const IMAGE_NAME = '^[A-Za-z0-9_][A-Za-z0-9_./:@\\-]{0,511}$'
