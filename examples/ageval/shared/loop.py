"""The loop that the run.py files of this dataset have in common."""


async def asked(session, prompts):
    """The replies to several prompts, up to the first that failed."""
    replies = []
    for prompt in prompts:
        replies.append(await session.invoke(prompt))
        if not replies[-1].get("ok"):
            break
    return replies
