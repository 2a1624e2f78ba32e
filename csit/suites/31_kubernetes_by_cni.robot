*** Settings ***
Documentation       A cluster from its API to its packets: the API server is played (csit/libraries/kube_api.py), as is kubelet, which calls the plugin for each pod that it
...                 is given; the watcher, the controller, the agents and Open vSwitch are the real ones, and there is no kube-proxy.
Resource            ../resources/cluster.resource
Library             ../libraries/Traffic.py
Library             ../libraries/NorthSouth.py
Library             ../libraries/HostPorts.py
Suite Setup         Start A Cluster Of Two Nodes With Agents    blue
Suite Teardown      Stop Cluster And Lab

*** Test Cases ***
Pods Run And Reach Each Other
    ${web}=    Kubelet Runs    blue    web    1    app=web
    Should Be Equal    ${web}    10.11.1.2
    Kubelet Runs    blue    client    2    app=client
    ${other}=    Kubelet Runs    blue    other    2    app=other
    Should Be Equal    ${other}    10.11.2.3
    Datastore Should Follow
    Traffic Should Pass    blue:client    blue:web    v4    tcp
    Traffic Should Pass    blue:web    blue:other    v4    full

A Service Is Reached
    Service Is    blue    web    10.96.0.10    8080    8080
    Service Has    blue    web    8080    10.11.1.2
    Datastore Should Follow
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    1048576

An Isolated Namespace Is Reached By Its Own Alone
    [Documentation]    A service leads into it from elsewhere, and no more once the namespace has the annotation.
    Namespace Is    red
    Kubelet Runs    red    asks    2
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    1000    red:asks
    Namespace Is Isolated    blue
    Datastore Should Follow
    Wait Until Keyword Succeeds    30 s    0.5 s    The Service Should Be Out Of Reach    red:asks
    The Service Should Carry    1000
    Namespace Is Isolated    blue    no
    Datastore Should Follow
    Wait Until Keyword Succeeds    30 s    0.5 s    The Service Should Carry    1000    red:asks
    Kubelet Ends    red    asks

A Policy Is Enforced
    Only App May Reach    blue    web    client
    Datastore Should Follow
    Ping Should Pass    blue:client    10.11.1.2
    Ping Should Fail    blue:other    10.11.1.2

A Pod That Has Come Since Is Under The Policy
    ${late}=    Kubelet Runs    blue    late    1    app=web
    Datastore Should Follow
    Ping Should Pass    blue:client    ${late}
    Ping Should Fail    blue:other    ${late}
    Policy Goes    blue    web
    Datastore Should Follow
    Ping Should Pass    blue:other    ${late}
    Kubelet Ends    blue    late

A New Sandbox Keeps The Address
    ${again}=    Kubelet Runs    blue    web    1    app=web
    Should Be Equal    ${again}    10.11.1.2
    Datastore Should Follow
    Ping Should Pass    blue:client    10.11.1.2
    Wait Until Keyword Succeeds    15 s    0.5 s    The Service Should Carry    100000
    Call By Cni    CHECK    blue:web

A Host Port And A Limit Are What The Cluster Says
    [Documentation]    The runtime says the same to the plugin, which writes nothing then; an annotation that changes later holds.
    ${annotations}=    Create Dictionary    kubernetes.io/egress-bandwidth=20M
    ${runtime}=    Mapped    tcp:8080:8080    egressRate=20000000    egressBurst=2147483647
    Kubelet Runs    blue    front    1    host_port=8080    annotations=${annotations}    config=${runtime}    app=front
    Datastore Should Follow
    ${node}=    Node Address    1
    ${came}=    TCP Transfer    blue:client    blue:front    8080    100000    ${node}
    Should Be Equal As Integers    ${came}    100000
    Limit Should Be    20000
    ${annotations}=    Create Dictionary    kubernetes.io/egress-bandwidth=30M
    Annotate Pod    blue    front    ${annotations}
    Wait Until Keyword Succeeds    10 s    300 ms    Limit Should Be    30000
    Call By Cni    CHECK    blue:front    config=${runtime}
    ${none}=    Create Dictionary
    Annotate Pod    blue    front    ${none}
    Wait Until Keyword Succeeds    10 s    300 ms    Nobody Should Be Limited
    Kubelet Ends    blue    front
    Datastore Should Follow

What Is Gone Is Gone Everywhere
    Kubelet Ends    blue    web
    Kubelet Ends    blue    client
    Kubelet Ends    blue    other
    Datastore Should Follow
    Nothing Should Be Left    1    timeout=10
    Nothing Should Be Left    2    timeout=10
    Tables Should Be As From Scratch

*** Keywords ***
Limit Should Be
    [Arguments]    ${kilobits}
    ${meters}=    Meters Of    1
    Length Should Be    ${meters}    1
    ${text}=    Meters As Text    1
    Should Contain    ${text}    rate=${kilobits}

Nobody Should Be Limited
    ${meters}=    Meters Of    1
    Should Be Empty    ${meters}

The Service Should Carry
    [Arguments]    ${size}    ${client}=blue:client
    ${came}=    TCP Transfer    ${client}    blue:web    8080    ${size}    10.96.0.10
    Should Be Equal As Integers    ${came}    ${size}

The Service Should Be Out Of Reach
    [Arguments]    ${client}
    ${carries}=    Run Keyword And Return Status    The Service Should Carry    1000    ${client}
    Should Not Be True    ${carries}
