"""The doctor's checks in Chinese: what their owners complain of, and what is wrong."""

from rlnotes.report.symptoms import Words

NO_FALL = "不管策略怎样变，价值损失就是不降。"
CHECKS = {
    "identical-environments": Words(
        "环境开得再多也没有用，而且它们总在同一步结束。",
        "向量里的环境是同一个环境的副本",
    ),
    "lost-ends": Words(
        "损失看不出问题；输掉的一局和刚开的一局，V 给的价值一样高。",
        "回合的结束标记丢了",
    ),
    "clock-as-end": Words(
        "损失看不出问题；快到时限的状态，估值时就像世界到此为止。",
        "时间用完被存成了任务结束",
    ),
    "foreign-successor": Words(
        "损失看不出问题；学到的价值对回合末尾之后的事视而不见。",
        "存下的后继状态属于下一个回合",
    ),
    "common-start": Words(
        "策略开头走得好，后面就不知道怎么走了。",
        "每次采样之前，所有环境都从头开始",
    ),
    "raw-inputs": Words(
        "学得又慢又不稳；一开始的价值就远大于任何奖励。",
        "网络看到的数值不是它该看的尺度",
    ),
    "hand-scaled": Words(
        "同一个学习器，结果比用标准化观测时差。",
        "观测不是按自身的离散程度缩放的",
    ),
    "magnified-constant": Words(
        "学到的东西取决于一个毫无信息的数。",
        "一个从不变化的特征被放大了",
    ),
    "misread-return": Words(
        "最好的回合也停在远低于公认满分的地方。",
        "满分回合的得分不是大家以为的那个数",
    ),
    "out-of-bounds": Words(
        "同一个策略，评估时比训练时差。",
        "动作超出了环境的边界",
    ),
    "short-sight": Words(
        "设置是公认可行的，曲线却毫无起色。",
        "奖励来得比优势函数的视野还晚",
    ),
    "ratio-at-first": Words(
        "PPO 的损失在动，策略却没有从奖励里学到东西。",
        "还没迈出第一步，概率比就不是 1",
    ),
    "foreign-actions": Words(
        "有了专家的价值函数，学生也不过和克隆差不多。",
        "更新用的动作不是学习者自己的",
    ),
    "weights-of-states": Words(
        "专家说了动作值多少，策略却学不动。",
        "专家的权重说的是哪个状态好，不是哪个动作好",
    ),
    "value-without-gradient": Words(NO_FALL, "价值函数的误差大部分没有梯度"),
    "silent-value": Words(NO_FALL, "梯度根本传不到价值函数"),
    "pinned-deviation": Words(
        "回报从不上升；策略一直在抖。",
        "策略的标准差全都被钉死，而且很大",
    ),
    "thrown-away": Words(
        "回报掉到某个数，就停在那里不动了。",
        "一次更新把学到的策略扔掉了",
    ),
    "stale-copy": Words("损失很小，却什么也不变。", "目标网络更新得太少"),
    "common-coin": Words(
        "许多环境并不比几个环境强。",
        "所有环境共用一枚硬币，决定这一步是否探索",
    ),
    "paid-to-live": Words(
        "不管演示了什么，它只学会了活得久，或者死得快。",
        "学来的奖励其实是在为回合长度付钱",
    ),
    "flat-discriminator": Words(
        "判别器给的奖励全都差不多，策略随波逐流。",
        "判别器变平了",
    ),
    "won-discriminator": Words(
        "判别器十拿九稳，策略却不再靠近演示。",
        "判别器已经赢了",
    ),
    "growing-entropy": Words(
        "熵系数稍大一点，就什么都学不到了。",
        "熵奖励把标准差越推越大",
    ),
    "invented-values": Words(
        "损失看着正常，回报却不行：评论家对自己很满意。",
        "评论家许诺的比实际到手的多",
    ),
    "impossible-values": Words(
        "价值无止境地增长。",
        "评论家许诺的比奖励允许的还多",
    ),
    "unseen-ends": Words(
        "回报冲到顶又跌回来，一遍又一遍。",
        "Q 看不到结束正在逼近",
    ),
    "leaves-data": Words(
        "一上来就撞了，尽管它模仿的对象次次成功。",
        "策略离开了数据",
    ),
}
